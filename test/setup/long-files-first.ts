import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that take longest, in this order. A long file that starts last keeps one worker busy alone. */
export const LONG_FILES = [
  'e2e/scaffold/scaffold.long',
  'e2e/site/site.long',
  'e2e/docs/explore-tutorial.long',
  'e2e/ui/large-world.long',
  'e2e/explore/client-processes.long',
  'e2e/explore/command.long',
  'e2e/examples/rehearsal.long',
  'e2e/examples/examples',
  'e2e/examples/recipes.long',
  'e2e/ui/accessibility.long',
  'e2e/sweep/fuzz.long',
  'e2e/pages/commands.long',
  'e2e/pages/saved-page.long',
  'e2e/explore/shards.long',
  'workbench/explore/mutants/careful-client.long',
  'service/fuzz.long',
  'service/bounded-work.long',
  'workbench/explore/example-clients.long',
  'cli/conform/own-document.long',
  'workbench/explore/mutants/mutants.long',
  'workbench/explore/cli.long',
  'workbench/scenario/shipped',
  'service/naming/names.long',
  'server/three-transports.long',
  'service/model-schemas.long',
  'cli/conform/conform.long',
]

/** Runs the long files of each project first, and the others in the order of vitest. */
export class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    return sorted.sort((a, b) => a.project.name.localeCompare(b.project.name) || rank(a) - rank(b))
  }
}

function rank({ moduleId }: TestSpecification): number {
  const found = LONG_FILES.findIndex(name => moduleId.endsWith(`/test/${name}.test.ts`))
  return found < 0 ? LONG_FILES.length : found
}
