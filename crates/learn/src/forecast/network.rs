//! The network of a forecaster: two layers of 32 rectified linear units, and one output for each
//! class of lifespans.
//!
//! Every sum is added up in the same order with all instruction sets: units lie side by side in
//! vectors, and no multiplication is fused with an addition.

use frostline_placement::{FORECAST_CLASSES, ForecastInputs, TrainingSample};
use frostline_random::SplitMix;
use multiversion::multiversion;

const INPUTS: usize = size_of::<ForecastInputs>() / size_of::<f32>();
/// Units of each layer between inputs and outputs.
const UNITS: usize = 2 * LANES;
/// Outputs in a row of weights. A row fills a vector; outputs beyond the classes are unused.
const OUTPUTS: usize = LANES;
const _: () = {
    assert!(FORECAST_CLASSES <= OUTPUTS, "each class has an output");
    assert!(INPUTS * size_of::<f32>() == size_of::<ForecastInputs>(), "inputs are numbers");
    assert!(UNITS.is_multiple_of(4), "an output is a sum of four parts");
};

/// The start of each layer in the column of lanes: its weights, a row for each of its inputs, then
/// its biases.
const SECOND: usize = 2 * (INPUTS + 1);
const THIRD: usize = SECOND + 2 * (UNITS + 1);
const END: usize = THIRD + UNITS + 1;
/// Values of a network.
pub(crate) const VALUES: usize = END * LANES;

/// A network before training: weights spread evenly within the root of six over a layer's inputs
/// (He, Zhang, Ren and Sun, ICCV 2015), biases 0.
pub(crate) fn random(chance: &mut SplitMix) -> Vec<f32> {
    let mut values = vec![0.0; VALUES];
    let layers = [(0, SECOND - 2, INPUTS), (SECOND, THIRD - 2, UNITS), (THIRD, END - 1, UNITS)];
    for (from, to, inputs) in layers {
        let width = 2.0 * (6.0 / inputs as f32).sqrt();
        values[from * LANES..to * LANES].fill_with(|| (chance.unit() as f32 - 0.5) * width);
    }
    values
}

/// The likeliest class.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn forecast(values: &[f32], inputs: &ForecastInputs) -> usize {
    likeliest(values, inputs)
}

/// The gradient of the cross entropy of the lessons of a batch, which are those at these places,
/// added up in their order. `values` and `gradient` have [`VALUES`] places.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn learn(
    values: &[f32],
    lessons: &[TrainingSample],
    batch: &[u32],
    gradient: &mut [f32],
) {
    descend(values, lessons, batch, gradient);
}

#[inline(always)]
fn likeliest(values: &[f32], inputs: &ForecastInputs) -> usize {
    let outputs = used(Activations::of(layers(values), inputs).outputs);
    let most = largest(outputs);
    let mut likeliest = 0;
    for class in (0..FORECAST_CLASSES).rev() {
        likeliest = if outputs[class] == most { class } else { likeliest };
    }
    likeliest
}

/// The outputs, those beyond the classes less than any other.
#[inline(always)]
fn used(mut outputs: UnitLanes) -> UnitLanes {
    for unused in &mut outputs[FORECAST_CLASSES..] {
        *unused = f32::NEG_INFINITY;
    }
    outputs
}

/// The largest output. Halves are compared with each other: if one output came after the other,
/// each comparison would wait for the one before.
#[inline(always)]
fn largest(mut outputs: UnitLanes) -> f32 {
    for half in [LANES / 2, LANES / 4, LANES / 8, LANES / 16] {
        for lane in 0..half {
            let other = outputs[half + lane];
            outputs[lane] = if other > outputs[lane] { other } else { outputs[lane] };
        }
    }
    outputs[0]
}

#[inline(always)]
fn descend(values: &[f32], lessons: &[TrainingSample], batch: &[u32], gradient: &mut [f32]) {
    let values = layers(values);
    let gradient = gradient.as_chunks_mut().0.first_chunk_mut().expect("as many as values");
    gradient.fill([0.0; LANES]);
    let (second, third) = (turned(&values[SECOND..THIRD]), turned(&values[THIRD..END]));
    for &place in batch {
        follow(values, (&second, &third), &lessons[place as usize], gradient);
    }
}

/// Adds the gradient of a lesson to `gradient`.
#[inline(always)]
fn follow(
    values: &[UnitLanes; END],
    (of_second, of_third): (&[Units; UNITS], &[Units; OUTPUTS]),
    TrainingSample { inputs, class }: &TrainingSample,
    gradient: &mut [UnitLanes; END],
) {
    debug_assert!(usize::from(*class) < FORECAST_CLASSES, "a lesson is of a class");
    let Activations { first, second, outputs } = Activations::of(values, inputs);
    let mut slopes = shares(&outputs);
    slopes[usize::from(*class)] -= 1.0;
    add_slopes(&mut gradient[THIRD..], &second, &[slopes]);
    let slopes = back(of_third, &slopes, &second);
    add_slopes(&mut gradient[SECOND..THIRD], &first, &lanes(&slopes));
    let slopes = back(of_second, &slopes, &first);
    add_slopes(&mut gradient[..SECOND], inputs, &lanes(&slopes));
}

/// The cross entropy of a lesson.
#[cfg(test)]
pub(crate) fn loss(values: &[f32], TrainingSample { inputs, class }: &TrainingSample) -> f32 {
    let outputs = Activations::of(layers(values), inputs).outputs;
    -shares(&outputs)[usize::from(*class)].max(1e-30).ln()
}

#[inline(always)]
fn layers(values: &[f32]) -> &[UnitLanes; END] {
    values.as_chunks().0.first_chunk().expect("as many values as a network has")
}

/// The values of each layer.
struct Activations {
    first: Units,
    second: Units,
    outputs: UnitLanes,
}

impl Activations {
    #[inline(always)]
    fn of(values: &[UnitLanes; END], inputs: &ForecastInputs) -> Self {
        let first = above_zero(sums(&values[..SECOND], inputs));
        let second = above_zero(sums(&values[SECOND..THIRD], &first));
        let outputs = outputs(&values[THIRD..END], &second);
        Activations { first, second, outputs }
    }
}

/// The sums of a layer of units. Each has two parts, so that no addition waits for the previous
/// one.
#[inline(always)]
fn sums<const IN: usize>(layer: &[UnitLanes], inputs: &[f32; IN]) -> [UnitLanes; 2] {
    const { assert!(IN.is_multiple_of(2), "a sum has two parts") };
    debug_assert_eq!(layer.len(), 2 * (IN + 1), "two rows for each input, and the biases");
    let (mut low, mut high) = (layer[2 * IN], layer[2 * IN + 1]);
    let (mut low2, mut high2) = ([0.0; LANES], [0.0; LANES]);
    let mut k = 0;
    while k < IN {
        low = add(low, &layer[2 * k], inputs[k]);
        high = add(high, &layer[2 * k + 1], inputs[k]);
        low2 = add(low2, &layer[2 * k + 2], inputs[k + 1]);
        high2 = add(high2, &layer[2 * k + 3], inputs[k + 1]);
        k += 2;
    }
    [add(low, &low2, 1.0), add(high, &high2, 1.0)]
}

/// The outputs; each is a sum of four parts.
#[inline(always)]
fn outputs(layer: &[UnitLanes], inputs: &Units) -> UnitLanes {
    let mut parts = [layer[UNITS], [0.0; LANES], [0.0; LANES], [0.0; LANES]];
    let mut k = 0;
    while k < UNITS {
        parts[0] = add(parts[0], &layer[k], inputs[k]);
        parts[1] = add(parts[1], &layer[k + 1], inputs[k + 1]);
        parts[2] = add(parts[2], &layer[k + 2], inputs[k + 2]);
        parts[3] = add(parts[3], &layer[k + 3], inputs[k + 3]);
        k += 4;
    }
    add(add(parts[0], &parts[1], 1.0), &add(parts[2], &parts[3], 1.0), 1.0)
}

#[inline(always)]
fn above_zero(sums: [UnitLanes; 2]) -> Units {
    let mut units = [0.0; UNITS];
    for lane in 0..LANES {
        let [low, high] = [sums[0][lane], sums[1][lane]];
        units[lane] = if low > 0.0 { low } else { 0.0 };
        units[LANES + lane] = if high > 0.0 { high } else { 0.0 };
    }
    units
}

/// Adds to the gradient of a layer. Inputs that are 0 are not left out: the processor could not
/// predict that branch.
#[expect(clippy::needless_range_loop, reason = "iterators are not drawn into vector code")]
#[inline(always)]
fn add_slopes<const IN: usize, const ROW: usize>(
    gradient: &mut [UnitLanes],
    inputs: &[f32; IN],
    slopes: &[UnitLanes; ROW],
) {
    for k in 0..IN {
        for place in 0..ROW {
            let at = k * ROW + place;
            gradient[at] = add(gradient[at], &slopes[place], inputs[k]);
        }
    }
    for place in 0..ROW {
        let at = IN * ROW + place;
        gradient[at] = add(gradient[at], &slopes[place], 1.0);
    }
}

/// The derivatives by a layer's inputs; they are 0 where the input was 0. The terms of each are
/// added up in a fixed order, sixteen at a time.
#[inline(always)]
fn back<const OUT: usize>(turned: &[Units; OUT], slopes: &[f32; OUT], inputs: &Units) -> Units {
    const { assert!(OUT.is_multiple_of(LANES), "terms are added sixteen at a time") };
    let mut sums = [0.0; UNITS];
    let mut from = 0;
    while from < OUT {
        let a = sum(terms(turned, slopes, from), &terms(turned, slopes, from + 4));
        let b = sum(terms(turned, slopes, from + 1), &terms(turned, slopes, from + 5));
        let c = sum(terms(turned, slopes, from + 2), &terms(turned, slopes, from + 6));
        let d = sum(terms(turned, slopes, from + 3), &terms(turned, slopes, from + 7));
        sums = sum(sums, &sum(sum(a, &b), &sum(c, &d)));
        from += LANES;
    }
    for k in 0..UNITS {
        sums[k] = if inputs[k] == 0.0 { 0.0 } else { sums[k] };
    }
    sums
}

/// The terms of an output and of the one eight further.
#[inline(always)]
fn terms<const OUT: usize>(turned: &[Units; OUT], slopes: &[f32; OUT], output: usize) -> Units {
    let further = output + LANES / 2;
    sum(product(turned[output], slopes[output]), &product(turned[further], slopes[further]))
}

/// A layer's weights, a row for each of its outputs.
#[inline(always)]
fn turned<const OUT: usize>(layer: &[UnitLanes]) -> [Units; OUT] {
    let mut turned = [[0.0; UNITS]; OUT];
    for output in 0..OUT {
        for k in 0..UNITS {
            turned[output][k] = layer[k * (OUT / LANES) + output / LANES][output % LANES];
        }
    }
    turned
}

#[inline(always)]
fn lanes(units: &Units) -> [UnitLanes; 2] {
    let (low, high) = units.split_at(LANES);
    let mut lanes = [[0.0; LANES]; 2];
    lanes[0].copy_from_slice(low);
    lanes[1].copy_from_slice(high);
    lanes
}

/// Values side by side, which compilers turn into vectors.
const LANES: usize = 16;
type UnitLanes = [f32; LANES];
/// One value for each unit of a layer.
type Units = [f32; UNITS];

// Lanes are passed by value, and loops over them use an index: otherwise compilers do not
// vectorise, or call functions that were compiled for every processor.

#[inline(always)]
fn add(mut sums: UnitLanes, values: &UnitLanes, times: f32) -> UnitLanes {
    for lane in 0..LANES {
        sums[lane] += values[lane] * times;
    }
    sums
}

#[inline(always)]
fn sum(mut a: Units, b: &Units) -> Units {
    for k in 0..UNITS {
        a[k] += b[k];
    }
    a
}

#[inline(always)]
fn product(mut values: Units, times: f32) -> Units {
    for value in &mut values {
        *value *= times;
    }
    values
}

/// The probabilities of the classes; unused outputs have the probability 0.
#[inline(always)]
fn shares(outputs: &UnitLanes) -> UnitLanes {
    let mut shares = used(*outputs);
    let (most, mut sum) = (largest(shares), 0.0);
    for share in &mut shares {
        *share = exp(*share - most);
    }
    shares[FORECAST_CLASSES..].fill(0.0);
    for &share in &shares[..FORECAST_CLASSES] {
        sum += share;
    }
    for share in &mut shares {
        *share /= sum;
    }
    shares
}

/// The exponential function for `x` of 0 and less, to within a millionth; the same on every
/// machine.
#[inline(always)]
fn exp(x: f32) -> f32 {
    let x = x.max(-80.0) * std::f32::consts::LOG2_E;
    let whole = x.floor();
    let rest = (x - whole) * std::f32::consts::LN_2;
    let mut part = 1.0;
    for term in [7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0] {
        part = 1.0 + part * rest / term;
    }
    part * f32::from_bits(((whole as i32 + 127) as u32) << 23)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lesson(chance: &mut SplitMix) -> TrainingSample {
        let inputs = std::array::from_fn(|_| chance.unit() as f32 * 4.0 - 2.0);
        TrainingSample { inputs, class: chance.below(FORECAST_CLASSES as u32) as u8 }
    }

    #[test]
    fn the_gradient_is_what_finite_differences_give() {
        let mut chance = SplitMix::new(5);
        let mut values = random(&mut chance);
        let lesson = lesson(&mut chance);
        let mut gradient = vec![0.0; VALUES];
        learn(&values, &[lesson], &[0], &mut gradient);
        let mut checked = 0;
        for value in (0..VALUES).step_by(7) {
            const STEP: f32 = 1e-3;
            let exact = values[value];
            let [above, below] = [STEP, -STEP].map(|step| {
                values[value] = exact + step;
                loss(&values, &lesson)
            });
            values[value] = exact;
            let (slope, found) = ((above - below) / (2.0 * STEP), gradient[value]);
            assert!(
                (found - slope).abs() < 2e-3 + 0.01 * slope.abs(),
                "{value}: {found}, not {slope}"
            );
            checked += u32::from(slope.abs() > 0.01);
        }
        assert!(checked > 30, "{checked} slopes were worth checking");
    }

    #[test]
    fn all_instructions_forecast_and_learn_the_same_to_the_last_bit() {
        let mut chance = SplitMix::new(6);
        let values = random(&mut chance);
        let lessons: Vec<_> = (0..100).map(|_| lesson(&mut chance)).collect();
        let [mut fast, mut plain] = [vec![0.0; VALUES], vec![0.0; VALUES]];
        for batch in [&[7][..], &[3, 99, 0], &[]] {
            learn(&values, &lessons, batch, &mut fast);
            descend(&values, &lessons, batch, &mut plain);
            assert_eq!(fast, plain);
        }
        for TrainingSample { inputs, .. } in &lessons {
            assert_eq!(forecast(&values, inputs), likeliest(&values, inputs));
        }
    }

    #[test]
    fn the_series_is_the_exponential_function() {
        for i in 0..8000 {
            let x = -i as f32 / 100.0;
            assert!((exp(x) - x.exp()).abs() <= 1e-6, "{x}: {} {}", exp(x), x.exp());
        }
    }
}
