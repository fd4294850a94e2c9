"""Study editor: the form that a study is composed with, kept while a person walks from page to page."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from reports.pages.option_widgets import ask_options, seeded
from reports.pages.plain_words import plain
from reports.pages.recipe_editor import Larder, edit_recipes
from reports.study_form import MEASURING, SETTINGS, TRAINING, StudyForm
from reports.wording import sentence
from workbench.cache import Cache
from workbench.catalogue import catalogue
from workbench.errors import WorkbenchError
from workbench.listing import list_tasks
from workbench.names import NAME_RULE
from workbench.recipe import cookbook
from workbench.store import RunStore
from workbench.study import Study, embedded_studies
from workbench.study_draft import StudyDraft, problems

FORM, TURN, BEGINNING = "new study form", "new study turn", "new study beginning"
BLANK = "an empty form"
FIRST_ASKED = ("seeds", "limit")
# Whoever installs a plugin meanwhile sees it after so many seconds.
FRESH_SECONDS = 60.0
BASE_HELP = (
    "A name on the model hub, a folder (beginning with . or / or ~), or a folder in an installed package "
    "(package:NAME/FOLDER)."
)


def edit_study(store: RunStore) -> tuple[StudyDraft, list[str]]:
    """Draw the form; give the draft it comes to, its paths made whole, and all that is wrong with it."""
    larder = _larder()
    _offer_beginnings(store)
    form = st.session_state.setdefault(FORM, StudyForm())
    key = f"study {st.session_state.setdefault(TURN, 0)}"
    _ask_what(form, key, store)
    st.subheader("Recipes", help="What is done to the encoder; each gives a version of it.")
    places = edit_recipes(form, key, larder)
    _ask_how(form, key)
    draft, faults = form.draft(larder.options)
    found = [*faults, *problems(draft, larder.entries)]
    for name, place in places.items():
        about = f"recipe {name!r}: "
        for said in found:
            if said.startswith(about):
                place.error(plain(sentence(said.removeprefix(about))))
    return draft.anchored(Path.cwd()), found


def open_study(file: Path | None) -> None:
    """Fill the form with what a study file says; without one, empty it."""
    try:
        st.session_state[FORM] = StudyForm.of(StudyDraft.of(Study.load(file))) if file else StudyForm()
    except WorkbenchError as error:
        st.toast(plain(str(error)), icon=":material/error:")
        return
    # Fields of another turn are other fields, so that none shows what the last form held.
    st.session_state[TURN] = st.session_state.get(TURN, 0) + 1


def _offer_beginnings(store: RunStore) -> None:
    """Let the form be filled in with a study that there is, instead of from nothing."""
    files = {f"the embedded study {name}": path for name, path in embedded_studies().items()}
    kept = sorted(store.study_file("any").parent.glob("*.yaml"))
    files |= {f"the study {path.stem} of this store": path for path in kept if NAME_RULE.fullmatch(path.stem)}
    left, right = st.columns([8, 2], vertical_alignment="bottom")
    left.selectbox("Begin with", [BLANK, *files], key=BEGINNING)

    def begin() -> None:
        open_study(files.get(st.session_state[BEGINNING]))

    right.button("Fill in the form", on_click=begin, width="stretch")


def _ask_what(form: StudyForm, key: str, store: RunStore) -> None:
    left, right = st.columns(2)
    form.name = left.text_input(
        "Name of the study",
        key=seeded(f"{key} name", form.name),
        help="Lower-case letters, digits, '.', '_' and '-'. Runs of one name stand in one comparison.",
        placeholder="my-study",
    ).strip()
    form.base = right.text_input("Base encoder", key=seeded(f"{key} base", form.base), help=plain(BASE_HELP)).strip()
    questions = _questions(str(store.root))
    form.tasks = st.multiselect(
        "Tasks",
        [*questions, *(task for task in {*form.tasks, *form.own_tasks} if task not in questions)],
        key=seeded(f"{key} tasks", form.tasks),
        format_func=lambda task: f"{task}: {questions[task]}" if questions.get(task) else task,
    )
    ask_options([known for known in SETTINGS if known.name in FIRST_ASKED], form.settings, f"{key} settings")


def _ask_how(form: StudyForm, key: str) -> None:
    with st.expander("How the base is trained"):
        ask_options(TRAINING, form.training, f"{key} training")
    with st.expander("What is measured, and how"):
        ask_options([known for known in SETTINGS if known.name == "measure"], form.settings, f"{key} settings")
        ask_options(MEASURING, form.measuring, f"{key} measuring")
    with st.expander("More"):
        rest = [known for known in SETTINGS if known.name not in (*FIRST_ASKED, "measure")]
        ask_options(rest, form.settings, f"{key} settings")
        left, right = st.columns(2)
        form.revision = left.text_input(
            "**revision** of a base on the model hub: branch, tag or commit", key=seeded(f"{key} rev", form.revision)
        ).strip()
        form.about = right.text_input("**about** what the study is for", key=seeded(f"{key} about", form.about))


@st.cache_resource(ttl=FRESH_SECONDS, show_spinner="asking the installed strategies what they can do")
def _larder() -> Larder:
    return Larder(entries=tuple(catalogue(Cache.default())), book=cookbook())


@st.cache_resource(ttl=FRESH_SECONDS, show_spinner=False)
def _questions(root: str) -> dict[str, str]:
    """What each installed task asks, by its name."""
    return {row["name"]: row["question"] for row in list_tasks(RunStore(Path(root))).rows}
