/** Finds the commit of the project, which is part of every results file. */
import { spawnSync } from 'node:child_process'

/** The variables in which CI servers give it. */
const VARIABLES = [
  ...['GITHUB_SHA', 'CI_COMMIT_SHA', 'BUILDKITE_COMMIT', 'CIRCLE_SHA1', 'SEMAPHORE_GIT_SHA', 'BITBUCKET_COMMIT'],
]

/** Returns the commit of a CI server or of git; undefined if neither tells. */
export function findCommit(
  folder: string,
  variables: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const given = VARIABLES.map(name => variables[name]).find(value => value !== undefined && value !== '')
  if (given !== undefined) return given
  const { status, stdout } = spawnSync('git', ['rev-parse', 'HEAD'], { cwd: folder, encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}
