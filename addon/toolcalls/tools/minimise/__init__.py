"""`toolcalls minimise`: an exchange cut down to the smallest reply and request that still shows a verdict.

`command` is what to read first. A reply as a dialect case has it, and what reads and writes it, are in `flows/cases`.

showing      what "still shows it" means, for each way of asking
reducing     smaller examples, by delta debugging (lithium), within a limit of time
anonymising  names and values that do not matter become neutral ones
search       which atoms of a list can go, and how much time is left

Where text alone shows nothing (native calls, rules), the reply's frames and the request are cut down:

exchange_job       both as a job of `toolcalls rewrite --jsonl`, and how it is read
exchange_reducing  smaller jobs, with neutral names and values
whole_exchange     what is shown, and the paste for an issue
"""
