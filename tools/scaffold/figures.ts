/** The pictures of docs, as the command line draws them. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type SimulateArguments, simulate } from '../../src/cli/commands/simulate.ts'
import { DAY } from '../../src/kernel/duration.ts'
import type { GeneratedFile } from './declarations.ts'
import { ROOT } from './declarations.ts'

/** Each picture with the arguments of `modelhost-sim simulate` that draw it. */
const FIGURES: Readonly<Record<string, Partial<SimulateArguments>>> = {
  'docs/figures/week.svg': { for: 7 * DAY },
  'docs/figures/zone-outage.svg': { for: DAY, commands: 'docs/figures/zone-outage.json' },
}

/** Returns every picture of docs as the command draws it now. */
export async function drawnFigures(): Promise<GeneratedFile[]> {
  const folder = mkdtempSync(join(tmpdir(), 'figures-'))
  try {
    const figures: GeneratedFile[] = []
    for (const [path, { commands, ...args }] of Object.entries(FIGURES)) {
      const plot = join(folder, 'figure.svg')
      await simulate(
        {
          ...{ fixtures: 'fleet', profile: 'realistic', seed: '1', plot },
          ...args,
          ...(commands !== undefined && { commands: join(ROOT, commands) }),
        },
        { out: () => {}, error: () => {} },
      )
      figures.push({ path, text: readFileSync(plot, 'utf8') })
    }
    return figures
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
