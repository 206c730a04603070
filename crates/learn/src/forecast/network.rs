//! The network of a forecaster: two layers of 32 rectified linear units, and one output for each
//! class of lifespans.
//!
//! Every sum is added up in the same order with all instruction sets: units lie side by side in
//! vectors, and no multiplication is fused with an addition.

use frostline_placement::{FORECAST_CLASSES, ForecastInputs, Lesson};
use frostline_random::SplitMix;
use multiversion::multiversion;

const INPUTS: usize = size_of::<ForecastInputs>() / size_of::<f32>();
/// Units of each layer between inputs and outputs.
const UNITS: usize = 2 * LANES;
/// Outputs in a row of weights. A row fills a vector; outputs beyond the classes are unused.
const OUTPUTS: usize = LANES;
const _: () = assert!(FORECAST_CLASSES <= OUTPUTS);

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

/// Adds the gradient of the cross entropy of a lesson to `gradient`.
#[multiversion(targets("x86_64+avx2"))]
pub(crate) fn learn(values: &[f32], lesson: &Lesson, gradient: &mut [f32]) {
    descend(values, lesson, gradient);
}

#[inline(always)]
fn likeliest(values: &[f32], inputs: &ForecastInputs) -> usize {
    let outputs = Activations::of(values.as_chunks().0, inputs).outputs;
    let mut best = 0;
    for class in 1..FORECAST_CLASSES {
        best = if outputs[class] > outputs[best] { class } else { best };
    }
    best
}

#[inline(always)]
fn descend(values: &[f32], Lesson { inputs, class }: &Lesson, gradient: &mut [f32]) {
    let (values, gradient) = (values.as_chunks().0, gradient.as_chunks_mut().0);
    let Activations { first, second, outputs } = Activations::of(values, inputs);
    let mut slopes = shares(&outputs);
    slopes[usize::from(*class)] -= 1.0;
    let slopes = back(&values[THIRD..], &mut gradient[THIRD..], &second, &[slopes]);
    let slopes = back(&values[SECOND..], &mut gradient[SECOND..], &first, &lanes(&slopes));
    back(values, gradient, inputs, &lanes(&slopes));
}

/// The cross entropy of a lesson.
#[cfg(test)]
pub(crate) fn loss(values: &[f32], Lesson { inputs, class }: &Lesson) -> f32 {
    let outputs = Activations::of(values.as_chunks().0, inputs).outputs;
    -shares(&outputs)[usize::from(*class)].max(1e-30).ln()
}

/// The values of each layer.
struct Activations {
    first: [f32; UNITS],
    second: [f32; UNITS],
    outputs: Lanes,
}

impl Activations {
    #[inline(always)]
    fn of(values: &[Lanes], inputs: &ForecastInputs) -> Self {
        let first = above_zero(sums(&values[..SECOND], inputs));
        let second = above_zero(sums(&values[SECOND..THIRD], &first));
        let outputs = outputs(&values[THIRD..END], &second);
        Activations { first, second, outputs }
    }
}

/// The sums of a layer of units. Each has two parts, so that no addition waits for the previous
/// one.
#[inline(always)]
fn sums<const IN: usize>(layer: &[Lanes], inputs: &[f32; IN]) -> [Lanes; 2] {
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
fn outputs(layer: &[Lanes], inputs: &[f32; UNITS]) -> Lanes {
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
fn above_zero(sums: [Lanes; 2]) -> [f32; UNITS] {
    let mut units = [0.0; UNITS];
    for lane in 0..LANES {
        let [low, high] = [sums[0][lane], sums[1][lane]];
        units[lane] = if low > 0.0 { low } else { 0.0 };
        units[LANES + lane] = if high > 0.0 { high } else { 0.0 };
    }
    units
}

/// Backpropagation through a layer: adds to the gradient, and returns the derivatives by the
/// layer's inputs. They are 0 where the input was 0.
#[expect(clippy::needless_range_loop, reason = "iterators are not drawn into vector code")]
#[inline(always)]
fn back<const IN: usize, const ROW: usize>(
    layer: &[Lanes],
    gradient: &mut [Lanes],
    inputs: &[f32; IN],
    slopes: &[Lanes; ROW],
) -> [f32; IN] {
    let mut by_inputs = [0.0; IN];
    for k in 0..IN {
        if inputs[k] == 0.0 {
            continue;
        }
        for place in 0..ROW {
            let at = k * ROW + place;
            gradient[at] = add(gradient[at], &slopes[place], inputs[k]);
            by_inputs[k] += dot(&layer[at], &slopes[place]);
        }
    }
    for place in 0..ROW {
        let at = IN * ROW + place;
        gradient[at] = add(gradient[at], &slopes[place], 1.0);
    }
    by_inputs
}

#[inline(always)]
fn lanes(units: &[f32; UNITS]) -> [Lanes; 2] {
    let (low, high) = units.split_at(LANES);
    let mut lanes = [[0.0; LANES]; 2];
    lanes[0].copy_from_slice(low);
    lanes[1].copy_from_slice(high);
    lanes
}

/// Values side by side, which compilers turn into vectors.
const LANES: usize = 16;
type Lanes = [f32; LANES];

// Lanes are passed by value, and loops over them use an index: otherwise compilers do not
// vectorise, or call functions that were compiled for every processor.

#[inline(always)]
fn add(mut sums: Lanes, values: &Lanes, times: f32) -> Lanes {
    for lane in 0..LANES {
        sums[lane] += values[lane] * times;
    }
    sums
}

/// The dot product, summed in a fixed order that vector instructions can follow.
#[inline(always)]
fn dot(a: &Lanes, b: &Lanes) -> f32 {
    let mut sums = [0.0; LANES / 2];
    for lane in 0..LANES / 2 {
        sums[lane] = a[lane] * b[lane] + a[LANES / 2 + lane] * b[LANES / 2 + lane];
    }
    let [a, b, c, d, e, f, g, h] = sums;
    ((a + e) + (b + f)) + ((c + g) + (d + h))
}

/// The probabilities of the classes; unused outputs have the probability 0.
#[inline(always)]
fn shares(outputs: &[f32; OUTPUTS]) -> [f32; OUTPUTS] {
    let (mut most, mut sum) = (outputs[0], 0.0);
    for &output in &outputs[..FORECAST_CLASSES] {
        most = if output > most { output } else { most };
    }
    let mut shares = [0.0; OUTPUTS];
    for class in 0..FORECAST_CLASSES {
        shares[class] = exp(outputs[class] - most);
        sum += shares[class];
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

    fn lesson(chance: &mut SplitMix) -> Lesson {
        let inputs = std::array::from_fn(|_| chance.unit() as f32 * 4.0 - 2.0);
        Lesson { inputs, class: chance.below(FORECAST_CLASSES as u32) as u8 }
    }

    #[test]
    fn the_gradient_is_what_finite_differences_give() {
        let mut chance = SplitMix::new(5);
        let mut values = random(&mut chance);
        let lesson = lesson(&mut chance);
        let mut gradient = vec![0.0; VALUES];
        learn(&values, &lesson, &mut gradient);
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
        for _ in 0..100 {
            let lesson = lesson(&mut chance);
            let [mut fast, mut plain] = [vec![0.0; VALUES], vec![0.0; VALUES]];
            learn(&values, &lesson, &mut fast);
            descend(&values, &lesson, &mut plain);
            assert_eq!(fast, plain);
            assert_eq!(forecast(&values, &lesson.inputs), likeliest(&values, &lesson.inputs));
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
