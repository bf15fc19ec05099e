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
/** A part of a room: its folder, or these files of the room. */
const part = (room: string, name: string, files = [`${name}/`]): Room => ({
  name: `${room}/${name}`,
  paths: files.map(file => `${room}/${file}`),
})

/** Every room of src, by level from the lowest up. A room imports itself and rooms of lower levels; all else is denied. */
export const LEVELS: readonly (readonly Room[])[] = [
  [folder('lib')],
  [folder('kernel')],
  [{ ...folder('data'), data: /^fixtures\/profiles\/[\w-]+\.json$/ }],
  [
    part('simulation', 'context', [
      ...['context.ts', 'part.ts', 'events.ts', 'journal-kind.ts', 'journal-kinds.ts'],
      ...['command-error.ts', 'store.ts'],
    ]),
  ],
  [part('simulation', 'load')],
  // Sinks: the parts write to them what a report or a log needs.
  [part('simulation', 'recording')],
  [part('simulation', 'account')],
  [part('simulation', 'fleet')],
  [part('simulation', 'deployments')],
  [part('simulation', 'rentals')],
  [part('simulation', 'inference')],
  [part('simulation', 'batches')],
  [part('simulation', 'operations')],
  [
    part('simulation', 'world', [
      ...['world.ts', 'world-parts.ts', 'world-options.ts', 'connect-parts.ts', 'start-from-fixture.ts'],
      ...['archived-classes.ts', 'event-failures.ts', 'forks.ts'],
    ]),
  ],
  [part('simulation', 'reporting'), part('simulation', 'invariants')],
  [folder('service/media')],
  [folder('service')],
  [part('simulator', 'exchanges'), part('simulator', 'faults'), part('simulator', 'clock')],
  // The class that joins the parts, its options and its checkpoints.
  [folder('simulator')],
  [part('simulator', 'requests')],
  [part('simulator', 'history')],
  [part('simulator', 'explain')],
  [part('simulator', 'judge')],
  [part('server', 'worlds')],
  [part('server', 'control')],
  [{ ...part('server', 'page'), onlyTypesOf: ['server/control'], alsoOf: ['lib'] }],
  [part('server', 'routing')],
  [part('server', 'http')],
  [part('server', 'saved-page')],
  // Above the server: the commands that it explores are clients of a server.
  [part('workbench', 'explore')],
  [part('workbench', 'scenario')],
  [part('workbench', 'testing')],
  [folder('cli')],
  [{ name: 'index', paths: ['index.ts'] }],
]

/** Folders outside src that use the package as a user does: they import its public entries and their own files. */
export const USERS_OF_THE_PACKAGE = ['scenarios', 'examples']
