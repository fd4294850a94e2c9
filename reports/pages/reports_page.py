"""Reports: what is shown here as files to pass on, made when somebody asks for them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

import streamlit as st

from reports.pages.choosing import Choice, the_choice
from reports.pages.limits import AIMS, choose_limits
from reports.pages.plain_words import plain
from reports.wording import counted, sentence
from reports.writing import report_files, write_report
from workbench.clock import now
from workbench.dossier import Dossier, gather_dossier
from workbench.errors import UsageError, WorkbenchError
from workbench.names import NAME_RULE
from workbench.sizes import spoken_size
from workbench.wish import Wish

MADE_KEY = "report made"
FOLDER_KEY = "report folder"
PAGE, MARKDOWN, TABLE, ALL_NUMBERS = "report.html", "report.md", "data/comparison.csv", "data/dossier.json"


def show() -> None:
    """Lay out what a report would hold, and hand it over."""
    st.title("Reports")
    choice = the_choice()
    if choice is None:
        return
    st.markdown(
        "A report holds everything that is known of the study: the answer within your limits, the comparison, charts, "
        "each recipe step by step, how it was measured, and how to repeat it."
    )
    lines = choice.comparison.of_task(None)
    with st.expander("Your limits", expanded=False):
        wish = choose_limits(lines)
    st.caption(plain(_asked(choice, wish)))
    key = _key(choice, wish)
    if st.button("Make the report", type="primary"):
        _make(choice, wish, key)
    made = st.session_state.get(MADE_KEY)
    if made and made[0] == key:
        _hand_over(choice, made[1], made[2])


def _asked(choice: Choice, wish: Wish) -> str:
    limits = "; ".join(limit.words() for limit in wish.limits) or "no limits"
    seeds = sorted({run.seed for run in choice.evidence.runs})
    tasks = choice.comparison.tasks
    where = f"task {tasks[0]}" if len(tasks) == 1 else f"all tasks ({', '.join(tasks)})"
    with_seeds = f"{'seed' if len(seeds) == 1 else 'seeds'} {', '.join(map(str, seeds))}"
    return sentence(
        f"study {choice.study}, {where}, {with_seeds}; asked for: the best {AIMS[wish.optimise]}, with {limits}"
    )


def _key(choice: Choice, wish: Wish) -> tuple[str, ...]:
    """What a report was made of; another choice, limit or run makes it another report."""
    evidence = choice.evidence
    names = (*(run.id for run in evidence.runs), *(campaign.id for campaign in evidence.campaigns))
    return (str(choice.store.root), wish.model_dump_json(), *names)


def _make(choice: Choice, wish: Wish, key: tuple[str, ...]) -> None:
    with st.spinner("drawing and writing"):
        dossier = gather_dossier(choice.evidence, choice.store, wish)
        st.session_state[MADE_KEY] = (key, dossier, report_files(dossier))
    st.session_state[FOLDER_KEY] = f"{choice.study}-{now()[:19].replace(':', '').replace('T', '-')}"


def _hand_over(choice: Choice, dossier: Dossier, files: Mapping[str, bytes]) -> None:
    name = dossier.study
    packed = zipped({path: content for path, content in files.items() if path == MARKDOWN or path.endswith(".svg")})
    offers = (
        ("One HTML page", files[PAGE], f"{name}.html", "text/html", "Works offline and can be mailed"),
        ("Markdown and charts", packed, f"{name}-markdown.zip", "application/zip", "For a repository or a wiki"),
        ("The table as CSV", files[TABLE], f"{name}.csv", "text/csv", "Every number in full, for a spreadsheet"),
        ("All of it as JSON", files[ALL_NUMBERS], f"{name}.json", "application/json", "Everything, for programs"),
    )
    for place, (label, content, file, mime, told) in zip(st.columns(len(offers)), offers, strict=True):
        place.download_button(label, content, file, mime, on_click="ignore", width="stretch")
        place.caption(f"{told} ({spoken_size(len(content))})")
    st.markdown("Or keep it in the store:")
    folder = st.text_input("Folder below reports/ of the store", key=FOLDER_KEY)
    if st.button("Write it there"):
        _write(choice, dossier, folder)


def _write(choice: Choice, dossier: Dossier, folder: str) -> None:
    try:
        if not NAME_RULE.fullmatch(folder):
            raise UsageError(f"{folder!r} is no name for a folder; use lower-case letters, digits, '.', '_' and '-'")
        written = write_report(dossier, choice.store.root / "reports" / folder)
    except WorkbenchError as error:
        st.error(plain(sentence(str(error))))
        return
    st.success(f"{counted(len(written), 'file')} written. Open this one first:")
    st.code(str(written[0].resolve()), language=None)


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Files by their path, packed into one archive."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return held.getvalue()
