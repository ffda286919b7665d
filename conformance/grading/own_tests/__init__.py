"""Grade a file of tests: run it over right and wrong implementations that it sees only through `generate`.

`lineup` says which implementations there are, `near` is the process of the tests, `far` the process of an
implementation, `encounter` the referee between the two, `examine` all encounters, `verdict` what they add up to.
`objects`, `errors`, `line`, `near`, `session` and `far` run in the sandbox and import the standard library only
(`session` also pytest).
"""
