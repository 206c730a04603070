"""Pages of the site that are not in docs/, and links to files that the site does not have."""

import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"

# Files of the repository that are pages of the site.
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "ARTIFACT.md": "artifact.md"}

LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def title(path):
    return path.read_text().splitlines()[0].lstrip("# ")


def decisions():
    """The list of all first, if there is one."""
    return sorted((DOCS / "decisions").glob("*.md"), key=lambda path: (path.name != "README.md", path.name))


def named(nav):
    """All pages of a part of the navigation."""
    for entry in nav:
        for below in entry.values():
            yield from [below] if isinstance(below, str) else named(below)


def existing(nav):
    """The parts of the navigation whose pages there are."""
    for entry in nav:
        for name, below in entry.items():
            if not isinstance(below, str):
                yield {name: list(existing(below))}
            elif (DOCS / below).exists() or below in PAGES.values():
                yield {name: below}


def on_config(config):
    """Decisions are found, so that a new one needs no line; so are pages that the navigation does not name."""
    config.nav = list(existing(config.nav))
    known = set(named(config.nav))
    others = [path for path in sorted(DOCS.glob("*.md")) if path.name not in known]
    if others:
        config.nav.append({"More": [{title(path): path.name} for path in others]})
    config.nav.append({"Decisions": [{title(path): f"decisions/{path.name}"} for path in decisions()]})
    return config


def on_files(files, config):
    for source, page in PAGES.items():
        if (ROOT / source).exists():
            files.append(File.generated(config, page, content=(ROOT / source).read_text()))
    return files


def resolved(link, source):
    """A link of a file of the repository: to a page of the site, to the repository, or none."""
    path, _, anchor = link.partition("#")
    anchor = f"#{anchor}" if anchor else ""
    target = (source.parent / path).resolve() if path else source
    if not target.is_relative_to(ROOT):
        return None
    name = str(target.relative_to(ROOT))
    if name in PAGES:
        return PAGES[name] + anchor
    if target.is_relative_to(DOCS) and target.is_file() and target.suffix in {".md", ".svg", ".png"}:
        return str(target.relative_to(DOCS)) + anchor
    if target == DOCS / "decisions":
        return f"decisions/{decisions()[0].name}"
    return ROOT / name


def on_page_markdown(markdown, page, config, files):
    place = page.file.src_uri
    names = {page: source for source, page in PAGES.items()}
    source = ROOT / names[place] if place in names else DOCS / place
    up = "../" * place.count("/")

    def replaced(match):
        picture, text, link = match.groups()
        if re.match(r"[a-z]+:", link) or (link.startswith("#") and not picture):
            return match.group()
        found = resolved(link, source)
        if isinstance(found, str):
            return f"{picture}[{text}]({up}{found})"
        if found is None or not config.repo_url:
            return text
        kind = "tree" if found.is_dir() else "blob"
        return f"[{text}]({config.repo_url}/{kind}/HEAD/{found.relative_to(ROOT)})"

    return LINK.sub(replaced, markdown)
