import { VERSION } from '../lib/version.ts'
import type { Simulator } from '../simulator/simulator.ts'

export interface BannerOptions {
  readonly url: string
  /** Name or folder of the fixture. */
  readonly fixtures: string
  /** Name of the weather, if given by a flag. */
  readonly weather?: string | undefined
  readonly controlToken?: string
  /** Whether the output is a terminal with colours. */
  readonly isTerminal: boolean
  /** Milliseconds since the process began. */
  readonly startedMs: number
}

/** Returns what `serve` prints when it is ready: address, world, clock, paths and two commands to paste. */
export function banner(sim: Simulator, options: BannerOptions): string {
  const bold = (text: string) => (options.isTerminal ? `\u001b[1m${text}\u001b[22m` : text)
  // Without the scheme, which curl takes for granted, both lines stay within 80 columns.
  const address = options.url.replace('http://', '')
  const guard = options.controlToken === undefined ? '' : ` -H "x-sim-control-token: ${options.controlToken}" \\\n `
  const lines = [
    `${bold(`modelhost-sim ${VERSION}`)}  ${bold(options.url)}  ready in ${Math.round(options.startedMs)} ms`,
    '',
    `token     ${sim.token}`,
    `world     fixtures ${options.fixtures}, seed ${sim.seed}`,
    ...(options.weather === undefined ? [] : [`weather   ${options.weather}`]),
    `clock     ${clockLine(sim)}`,
    `time      ${sim.clock.iso}`,
    ...(options.controlToken === undefined
      ? []
      : [
          'warning   other machines can reach this server; its control plane requires a token',
          `control   ${options.controlToken}`,
        ]),
    `page      ${options.url}/_sim/ui`,
    'paths     /_sim for control, /openapi.json for the OpenAPI document',
    '',
    `curl -H "Authorization: Bearer ${sim.token}" ${address}/deploy/list`,
    `curl${guard} --json '{"by":"10m"}' ${address}/_sim/clock/advance`,
  ]
  return `${lines.join('\n')}\n`
}

function clockLine({ clock }: Simulator): string {
  switch (clock.mode) {
    case 'scaled':
      return `scaled, ${clock.speed} simulated seconds per second; not reproducible`
    case 'on-poll':
      return 'on-poll: each GET of something in progress moves time to its next change'
    case 'idle':
      return 'idle: without requests, time jumps to the next event'
    default:
      return 'manual: time moves only on request'
  }
}
