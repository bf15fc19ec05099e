import fc from 'fast-check'

type Kinds<Values extends unknown[]> = { [At in keyof Values]: fc.Arbitrary<Values[At]> }
type Runs = Pick<fc.Parameters, 'numRuns' | 'seed'>
// biome-ignore lint/suspicious/noConfusingVoidType: `void` alone would let a check be async that nothing awaits.
type Outcome = boolean | void
type Rest<Values extends unknown[], Result> =
  | [check: (...values: Values) => Result]
  | [runs: Runs, check: (...values: Values) => Result]

/** Checks that something holds for random values, one of each kind in a run. A check fails if it throws or returns false. */
export function forAll<Values extends [unknown, ...unknown[]]>(
  kinds: [...Kinds<Values>],
  ...rest: Rest<Values, Outcome>
): void {
  const [check, runs] = rest.length === 1 ? [rest[0], {}] : [rest[1], rest[0]]
  fc.assert(
    fc.property(fc.tuple<Values>(...kinds), values => check(...values)),
    runs,
  )
}

/** Checks as `forAll` does, and awaits each run. */
export async function forAllAsync<Values extends [unknown, ...unknown[]]>(
  kinds: [...Kinds<Values>],
  ...rest: Rest<Values, Promise<Outcome>>
): Promise<void> {
  const [check, runs] = rest.length === 1 ? [rest[0], {}] : [rest[1], rest[0]]
  await fc.assert(
    fc.asyncProperty(fc.tuple<Values>(...kinds), values => check(...values)),
    runs,
  )
}
