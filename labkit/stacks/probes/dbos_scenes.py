"""What a process of the DBOS probes does. Each scene takes its `Life` and returns what it has to say.

The workflow of most of them is an order: it charges a customer and then ships the goods, an effect and a step each.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sqlalchemy as sa
from dbos import DBOS, DBOSClient, SetWorkflowID, SQLAlchemyDatasource
from sqlalchemy.orm import Session

from labkit.stacks.probes.dbos_lives import Life, wait_for
from labkit.stacks.probes.dbos_play import GO, POLL, RUN, Said, launch, outputs, play, stored, told

QUEUE = "jobs"
JOBS = 3


def order(life: Life) -> Said:
    """Charge and ship. In `edited` code the workflow has another body, and the same steps."""
    charge, ship = steps_of(life)
    if life.option == "edited":

        @DBOS.workflow(name="order")
        def workflow() -> list[str]:
            receipts = [charge()]
            return [*receipts, ship()]
    else:

        @DBOS.workflow(name="order")
        def workflow() -> list[str]:
            return [charge(), ship()]

    return play(life, workflow)


def changed(life: Life) -> Said:
    """Charge and ship; in `new` code a check comes first, in `patched` code only for runs that begin with it."""
    charge, ship = steps_of(life)

    @DBOS.step(name="check")
    def check() -> str:
        return life.act("check")

    @DBOS.workflow(name="order")
    def workflow() -> list[str]:
        first = life.option == "new" or (life.option == "patched" and DBOS.patch("check first"))
        checked = [check()] if first else []
        return [*checked, charge(), ship()]

    return play(life, workflow)


def generic(life: Life) -> Said:
    """The same change, in code that does everything in one step with an argument."""

    @DBOS.step(name="tool")
    def tool(name: str) -> str:
        life.die_at(f"{name} entered")
        return life.act(name)

    @DBOS.workflow(name="order")
    def workflow() -> dict[str, str]:
        names = ["check", "charge", "ship"] if life.option == "new" else ["charge", "ship"]
        return {name: tool(name) for name in names}

    return play(life, workflow)


def message(life: Life) -> Said:
    """Wait for a message, then ship what it says. `send` is another process, without the workflow's code."""
    if life.verb == "send":
        client = DBOSClient(system_database_url=life.database, dbos_system_schema=life.schema)
        client.send(RUN, "a book", topic="goods")
        life.die_at("sent")

    @DBOS.step(name="ship")
    def ship(goods: str) -> str:
        life.die_at("ship entered")
        return life.act(goods)

    @DBOS.workflow(name="order")
    def workflow() -> str:
        life.die_at("begun")
        return ship(str(DBOS.recv("goods")))

    return play(life, workflow)


def queue(life: Life) -> Said:
    """Enqueue jobs of one step each and wait for all of them; one is worked on at a time."""

    @DBOS.step(name="work")
    def work(number: int) -> str:
        life.die_at(f"job {number} entered")
        return life.act(f"job {number}")

    @DBOS.workflow(name="job")
    def job(number: int) -> str:
        return work(number)

    launch(life)
    DBOS.register_queue(QUEUE, worker_concurrency=1, polling_interval_sec=POLL)
    if life.verb == "start":
        for number in range(JOBS):
            with SetWorkflowID(f"job-{number}"):
                DBOS.enqueue_workflow(QUEUE, job, number)
    return {"told": [told(f"job-{number}") for number in range(JOBS)]}


def books(life: Life) -> Said:
    """Write a line into a database of one's own: in a datasource's `transaction`, or in a plain step."""
    datasource = SQLAlchemyDatasource.create(f"sqlite:///{Path(life.folder) / 'books.sqlite'}")
    with datasource.engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE IF NOT EXISTS lines (line TEXT)"))
    sa.event.listen(Session, "after_commit", lambda session: life.die_at("committed"))

    def write(session: Session) -> str:
        session.execute(sa.text("INSERT INTO lines VALUES ('charge')"))
        life.die_at("written")
        return "written"

    @datasource.transaction(name="write")
    def in_transaction() -> str:
        return write(datasource.sql_session())

    @DBOS.step(name="write")
    def in_step() -> str:
        with Session(datasource.engine) as session, session.begin():
            return write(session)

    @DBOS.workflow(name="order")
    def workflow() -> str:
        return in_transaction() if life.option == "transaction" else in_step()

    said = play(life, workflow)
    with datasource.engine.begin() as connection:
        return said | {"lines": connection.execute(sa.text("SELECT count(*) FROM lines")).scalar()}


def results(life: Life) -> Said:
    """Return a pair from a step, or with option `lambda` a function; say how the result is stored."""

    @DBOS.step(name="weigh")
    def weigh() -> Any:
        return (lambda: 0) if life.option == "lambda" else ("grams", 17)

    @DBOS.step(name="ship")
    def ship(weight: Any) -> str:
        life.die_at("ship entered")
        return life.act(f"ship {weight}")

    @DBOS.workflow(name="order")
    def workflow() -> str:
        return ship(weigh())

    said = play(life, workflow)
    return said | {"stored": stored(life)}


def plant(life: Life) -> Said:
    """Without DBOS: put bytes of one's own in the place of what the first step returned."""
    with sa.create_engine(life.database).begin() as connection:
        update = f"UPDATE {outputs(life)} SET output=:planted, serialization='py_pickle' WHERE function_name='weigh'"
        changed_rows = connection.execute(sa.text(update), {"planted": life.option}).rowcount
    return {"changed": changed_rows}


def steps_of(life: Life) -> Any:
    """The steps `charge` and `ship`. A process with option `waits` stays in `charge` until it is told to go."""

    @DBOS.step(name="charge")
    def charge() -> str:
        receipt = life.act("charge")
        life.die_at("charge executed")
        if life.option == "waits":
            wait_for(Path(life.folder) / GO)
        return receipt

    @DBOS.step(name="ship")
    def ship() -> str:
        life.die_at("ship entered")
        if life.option == "fails":
            raise ValueError("out of stock")
        return life.act("ship")

    return charge, ship
