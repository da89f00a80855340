"""All of the judge that runs inside a sandbox. Uses the standard library, pytest and Hypothesis only.

Three kinds of process, each the parent of the next::

    supervisor   trusted; owns the channel to the host, enforces limits; never runs foreign code
    └─ template  imports the library and the test file once, collects, then forks on request
       └─ case   runs one test case under one seed and reports one row

From the import of the test file on, template and cases belong to the answer: it may patch whatever
it finds there. That is why nothing in a sandbox tells which tree it holds (see ``docs/verdicts.md``).
"""
