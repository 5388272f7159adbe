"""`toolcalls judge`: recorded flows read again, and what differs from before.

In: files of flows. Out: changes as text, JSON, JUnit, annotations or Parquet. Read `command` first.

judged_flow    one flow: its verdicts by a configuration, and whether they are those of before
job            the same for a part of an archive; `spreading` spreads the parts, `state` knows what is done already
other_python   what another installed version says of the same files
mending        `--mend`: what mending would have changed
output         who shows it: `lines`, `summary`, `junit`; `rows` for Parquet
"""
