/** `modelhost-sim explore`: looks for what breaks a client. */
import { startLoopWatchdog } from '../../workbench/scenario/runner/guards.ts'
import { PROCESS_IO } from '../command.ts'
import { EXPLORE_FLAGS, type ExploreArguments, exploreFlows } from '../explore/explore-flows.ts'
import { words } from '../flags.ts'
import { exitWhenWritten, onSignals } from '../process-end.ts'
import { FINDING_EXIT_CODES } from '../shards/play.ts'

export const command = 'explore [flows..]'
export const describe = 'Look for what a client cannot survive, and shrink it to the fewest faults'
export const example = 'explore client.ts'
export const takesOtherCommand = true
export const flags = EXPLORE_FLAGS
export const positional = {
  flows: words('Modules whose default export is a function, or flow(name, options, function)', []),
}
export const examples = [
  ['$0 explore client.ts', 'single faults, pairs, and random plans'],
  ['$0 explore client.ts --faults singles --json', 'only single faults, as JSON'],
  ['$0 explore -- python3 client.py', 'a client that is a command'],
  ['$0 explore client.ts --seeds 1..1000 --shard 2/8 --out out', 'random plans, divided among processes'],
]
export const epilogue = FINDING_EXIT_CODES

export async function handler(args: ExploreArguments): Promise<void> {
  const watchdog = await startLoopWatchdog(args.loopLimit! / 1000)
  const stop = new AbortController()
  const ignoreSignals = onSignals(() => stop.abort())
  try {
    const io = { ...PROCESS_IO, playing: watchdog.playing, signal: stop.signal, folder: process.cwd() }
    process.exitCode = await exploreFlows(args, io)
  } finally {
    watchdog.stop()
    ignoreSignals()
  }
  // Flows may have left timers or sockets, which would keep the process alive.
  await exitWhenWritten()
}
