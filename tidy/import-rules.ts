/** Files that are bound by one import rule: a folder (`kernel/`), or a list of files. */
export interface Room {
  readonly name: string
  /** Paths below src; one that ends with a slash is a folder. The longest match of all rooms wins. */
  readonly paths: readonly string[]
  /** Rooms of which only types may be imported. Beside them it may import `alsoOf`, and no other room at all. */
  readonly onlyTypesOf?: readonly string[]
  /** Only with `onlyTypesOf`: rooms that may be imported whole. */
  readonly alsoOf?: readonly string[]
  /** Data outside src that it may import. */
  readonly data?: RegExp
}

const folder = (name: string): Room => ({ name, paths: [`${name}/`] })
const simulation = (name: string, ...files: readonly string[]): Room => ({
  name: `simulation/${name}`,
  paths: files.length === 0 ? [`simulation/${name}/`] : files.map(file => `simulation/${file}`),
})

/** Every room of src, by level from the lowest up. A room imports itself and rooms of lower levels; all else is denied. */
export const LEVELS: readonly (readonly Room[])[] = [
  [
    { name: 'version', paths: ['version.ts'] },
    { name: 'limits', paths: ['limits/'] },
  ],
  [folder('lib')],
  [folder('plots')],
  [folder('kernel')],
  [{ ...folder('data'), data: /^profiles\/[\w-]+\.json$/ }],
  [
    simulation(
      'context',
      ...['context.ts', 'part.ts', 'events.ts', 'journal-kind.ts', 'journal-kinds.ts', 'step-observer.ts'],
      ...['command-error.ts', 'account-journal-kinds.ts', 'rental-journal-kinds.ts'],
    ),
  ],
  [simulation('load')],
  // Sinks: the parts write to them what a report or a log needs.
  [simulation('recording')],
  [simulation('account')],
  [simulation('fleet')],
  [simulation('deployments')],
  [simulation('rentals')],
  [simulation('inference')],
  [simulation('batches')],
  [simulation('operations')],
  [
    simulation(
      'world',
      ...[
        'world.ts',
        'world-archive.ts',
        'world-options.ts',
        'connect-parts.ts',
        'start-from-fixture.ts',
        'archived-classes.ts',
        'event-failures.ts',
      ],
    ),
  ],
  [simulation('reporting'), simulation('metrics'), simulation('invariants')],
  [folder('service/media')],
  [folder('service')],
  [folder('faults'), folder('clock')],
  [folder('simulator')],
  [folder('evidence')],
  [folder('control')],
  [{ name: 'ui', paths: ['ui/'], onlyTypesOf: ['control'], alsoOf: ['lib', 'plots'] }],
  [folder('transports')],
  // Above the transports: the commands that it explores are clients of a server.
  [folder('explore')],
  [folder('scenario')],
  [folder('pages')],
  [folder('testing'), folder('conform')],
  [folder('cli')],
  [{ name: 'index', paths: ['index.ts'] }],
]

/** Folders outside src that use the package as a user does: they import its public entries and their own files. */
export const USERS_OF_THE_PACKAGE = ['scenarios', 'examples']
