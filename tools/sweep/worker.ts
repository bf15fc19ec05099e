/** Plays the worlds whose numbers it is sent, and answers what became of each. */
import { verdictOf } from './verdict.ts'

process.on('message', seed => {
  void verdictOf(seed as number).then(verdict => process.send!(verdict))
})
