/** Random input of property tests is the same in each run. `FUZZ_SEED=8 npm test` sends other input. */
import fc from 'fast-check'

fc.configureGlobal({ seed: Number(process.env.FUZZ_SEED ?? 7) })
