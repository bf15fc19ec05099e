/** What no single record can say of itself: that records agree with each other and with the world's epoch. */
import { nearestWord } from '../kernel/nearest.ts'
import { formatValue } from './problems.ts'
import type { CatalogModel, DeploymentSeed, Fixture } from './records.ts'

/** Takes one problem: the fixture's key, the path below it, and what to do. */
export type ReportProblem = (key: keyof Fixture, path: readonly PropertyKey[], text: string) => void

const TERMINAL_STATUSES: ReadonlySet<DeploymentSeed['status']> = new Set(['stopped', 'failed', 'deleted'])

/** Holds the records of a fixture against each other. */
export function checkFixture(fixture: Fixture, report: ReportProblem): void {
  checkDistinctKeys(fixture, report)
  checkCatalog(fixture, report)
  checkNodes(fixture, report)
  checkDeployments(fixture, report)
  checkFiles(fixture, report)
}

/** Refuses what would have happened after the world began. `expires_at` is a deadline and may lie ahead. */
export function checkTimes(fixture: Fixture, epochMs: number, report: ReportProblem): void {
  const epoch = new Date(epochMs).toISOString()
  const checkSeconds = <T extends object>(
    key: keyof Fixture,
    records: readonly T[],
    fields: readonly (keyof T & string)[],
  ) => {
    for (const [position, record] of records.entries()) {
      for (const field of fields) {
        const time = record[field]
        if (typeof time === 'number' && time * 1000 > epochMs) reportLate(key, [position, field], time)
      }
    }
  }
  const reportLate = (key: keyof Fixture, path: readonly PropertyKey[], time: number | string) =>
    report(
      key,
      path,
      `expected a time not later than the world's epoch ${epoch}, got ${formatValue(time)}. Fix that value.`,
    )

  checkSeconds('api_tokens', fixture.api_tokens, ['created_at'])
  checkSeconds('models', fixture.models, ['deprecated'])
  checkSeconds('aggregator', fixture.aggregator, ['created'])
  checkSeconds('voices', fixture.voices, ['created_at', 'updated_at'])
  checkSeconds('files', fixture.files, ['created_at'])
  checkSeconds('batches', fixture.batches, ['created_at', 'in_progress_at', 'finalizing_at', 'completed_at'])
  checkSeconds('hosted', fixture.hosted, ['created_at'])
  checkSeconds('containers', fixture.containers, ['created_at'])
  for (const [position, { created_at, updated_at }] of fixture.deployments.entries()) {
    if (created_at !== undefined && Date.parse(created_at) > epochMs) {
      reportLate('deployments', [position, 'created_at'], created_at)
    }
    if (updated_at !== undefined && Date.parse(updated_at) > epochMs) {
      reportLate('deployments', [position, 'updated_at'], updated_at)
    }
  }
}

function checkDistinctKeys(fixture: Fixture, report: ReportProblem): void {
  const checkDistinct = <T>(
    key: keyof Fixture,
    records: Iterable<readonly [readonly PropertyKey[], T]>,
    field: string,
    getValue: (record: T) => string | undefined,
  ) => {
    const seen = new Set<string>()
    for (const [path, record] of records) {
      const value = getValue(record)
      if (value === undefined) continue
      if (seen.has(value))
        report(key, [...path, field], `'${value}' is taken by another record. Give it another value.`)
      seen.add(value)
    }
  }
  checkDistinct('api_tokens', withPaths(fixture.api_tokens), 'token', token => token.token)
  checkDistinct('api_tokens', withPaths(fixture.api_tokens), 'token_id', token => token.token_id)
  checkDistinct('api_tokens', withPaths(fixture.api_tokens), 'name', token => token.name)
  checkDistinct('models', withPaths(fixture.models), 'model_name', model => model.model_name)
  checkDistinct('hardware', withPaths(fixture.hardware), 'model_name', entry => entry.model_name)
  checkDistinct('schemas', withPaths(fixture.schemas), 'variant', schema => `${schema.type} ${schema.variant}`)
  checkDistinct('aggregator', withPaths(fixture.aggregator), 'id', entry => entry.id)
  checkDistinct('hub', withPaths(fixture.hub.repositories, 'repositories'), 'repo', repository => repository.repo)
  checkDistinct('voices', withPaths(fixture.voices), 'voice_id', voice => voice.voice_id)
  checkDistinct('nodes', withPaths(fixture.nodes.pools, 'pools'), 'name', pool => pool.name)
  checkDistinct('nodes', nodeGroups(fixture), 'prefix', group => group.prefix)
  checkDistinct('deployments', withPaths(fixture.deployments), 'deploy_id', seed => seed.deploy_id)
  checkDistinct('deployments', withPaths(fixture.deployments), 'model_name', seed =>
    seed.status === 'deleted' ? undefined : seed.model_name,
  )
  checkDistinct('files', withPaths(fixture.files), 'id', file => file.id)
  checkDistinct('batches', withPaths(fixture.batches), 'id', batch => batch.id)
  checkDistinct('hosted', withPaths(fixture.hosted), 'instance_id', instance => instance.instance_id)
  checkDistinct('containers', withPaths(fixture.containers), 'container_id', container => container.container_id)
}

function* withPaths<T>(records: readonly T[], ...prefix: string[]): Generator<readonly [readonly PropertyKey[], T]> {
  for (const [position, record] of records.entries()) yield [[...prefix, position], record]
}

function* nodeGroups(fixture: Fixture) {
  for (const [pool, { nodes }] of fixture.nodes.pools.entries()) {
    for (const [group, record] of nodes.entries()) yield [['pools', pool, 'nodes', group], record] as const
  }
}

function checkCatalog(fixture: Fixture, report: ReportProblem): void {
  const models = new Set(fixture.models.map(model => model.model_name))
  const withHardware = new Set(fixture.hardware.map(entry => entry.model_name))
  for (const [position, { model_name, replaced_by }] of fixture.models.entries()) {
    if (replaced_by !== null && !models.has(replaced_by)) {
      report('models', [position, 'replaced_by'], describeUnknown('a model of models.json', replaced_by, models))
    }
    if (!withHardware.has(model_name)) {
      report('models', [position, 'model_name'], `'${model_name}' has no entry in hardware.json. Add one.`)
    }
  }
  for (const [position, { model_name }] of fixture.hardware.entries()) {
    if (!models.has(model_name)) {
      report('hardware', [position, 'model_name'], describeUnknown('a model of models.json', model_name, models))
    }
  }
}

function checkNodes(fixture: Fixture, report: ReportProblem): void {
  for (const [path, { occupied, gpus_per_node, count, min, max }] of nodeGroups(fixture)) {
    const reportField = (field: string, expected: string, got: number) =>
      report('nodes', [...path, field], `expected ${expected}, got ${got}. Fix that value.`)
    if (min !== undefined && max !== undefined && min > max) reportField('max', `at least min, ${min}`, max)
    else if (min !== undefined && count < min) reportField('count', `at least min, ${min}`, count)
    else if (max !== undefined && count > max) reportField('count', `at most max, ${max}`, count)
    if (occupied > gpus_per_node) reportField('occupied', `at most gpus_per_node, ${gpus_per_node}`, occupied)
  }
}

function checkDeployments(fixture: Fixture, report: ReportProblem): void {
  const models = new Map(fixture.models.map(model => [model.model_name, model]))
  const index: FixtureIndex = {
    owner: `${fixture.account.display_name}/`,
    models,
    bases: new Set([
      ...models.keys(),
      ...fixture.deployments.filter(({ type }) => type === 'llm').map(each => each.model_name),
    ]),
    deployed: new Map(
      fixture.deployments
        .filter(({ type, status }) => type === 'llm' && status !== 'deleted')
        .map(each => [each.model_name, each.status]),
    ),
    repositories: new Set(fixture.hub.repositories.map(repository => repository.repo)),
    isHubStrict: fixture.hub.policy === 'refuse',
  }
  for (const [position, seed] of fixture.deployments.entries()) {
    checkDeployment(index, seed, (field, text) => report('deployments', [position, ...field.split('.')], text))
  }
}

interface FixtureIndex {
  owner: string
  models: ReadonlyMap<string, CatalogModel>
  /** Whatever an adapter may stand on. */
  bases: ReadonlySet<string>
  /** The status of each LLM deployment that is not deleted. */
  deployed: ReadonlyMap<string, DeploymentSeed['status']>
  repositories: ReadonlySet<string>
  isHubStrict: boolean
}

function checkDeployment(
  index: FixtureIndex,
  seed: DeploymentSeed,
  report: (field: string, text: string) => void,
): void {
  const { owner, models, bases, repositories } = index
  const isOwn = seed.model_name.startsWith(owner) && seed.model_name.length > owner.length

  if (seed.type === 'llm' || seed.type === 'lora') {
    if (!isOwn)
      report(
        'model_name',
        `expected a name of the account's own, '${owner}…', got '${seed.model_name}'. Fix that value.`,
      )
  } else if (!isOwn) {
    const model = models.get(seed.model_name)
    if (model === undefined) {
      report(
        'model_name',
        describeUnknown(`a model of models.json or a name like '${owner}…'`, seed.model_name, models.keys()),
      )
    } else if (seed.version !== undefined && !model.versions.includes(seed.version)) {
      report(
        'version',
        `expected a version of '${model.model_name}' in models.json, got ${formatValue(seed.version)}. Fix that value.`,
      )
    }
  }

  if (seed.settings.max_instances < seed.settings.min_instances) {
    const { min_instances, max_instances } = seed.settings
    report(
      'settings.max_instances',
      `expected at least min_instances, ${min_instances}, got ${max_instances}. Fix that value.`,
    )
  }
  if (seed.status === 'failed' && seed.fail_reason === '') {
    report('fail_reason', 'expected a reason for the status failed, got none. Add that field.')
  }
  if (seed.status !== 'failed' && seed.fail_reason !== '') {
    report('fail_reason', `only the status failed has a reason, and this one is ${seed.status}. Remove that field.`)
  }
  if (seed.created_at !== undefined && seed.updated_at !== undefined) {
    if (Date.parse(seed.updated_at) < Date.parse(seed.created_at)) {
      report('updated_at', `expected a time not before created_at, got '${seed.updated_at}'. Fix that value.`)
    }
  }

  if (seed.type === 'lora') {
    if (seed.base_model === undefined)
      report('base_model', 'expected the model a lora adapts, got nothing. Add that field.')
    if (seed.source === undefined)
      report('source', 'expected where the adapter comes from, got nothing. Add that field.')
  } else if (seed.source !== undefined) {
    report('source', `only a lora has a source, and this is of type ${seed.type}. Remove that field.`)
  }
  if (seed.base_model === seed.model_name) {
    report('base_model', `'${seed.base_model}' cannot be its own base. Fix that value.`)
  } else if (seed.base_model !== undefined && !bases.has(seed.base_model)) {
    report('base_model', describeUnknown('a model of models.json or a deployment', seed.base_model, bases))
  } else if (seed.type === 'lora' && seed.base_model !== undefined && !TERMINAL_STATUSES.has(seed.status)) {
    const base = index.deployed.get(seed.base_model)
    if (base === undefined && !models.has(seed.base_model)) {
      report('base_model', `'${seed.base_model}' is deleted, so nothing of it can be ${seed.status}. Fix that value.`)
    } else if (
      base !== undefined &&
      (TERMINAL_STATUSES.has(base) || (seed.status === 'running' && base !== 'running'))
    ) {
      report('status', `its base '${seed.base_model}' is ${base}, so it can not be ${seed.status}. Fix that value.`)
    }
  }
  if (seed.load?.kind === 'trace' && seed.load.text === undefined) {
    report('load.path', "a path needs a fixture's folder. Give 'text' in its place.")
  }
  // What failed or is gone may well have asked for weights that nobody has.
  const needsWeights = seed.type === 'llm' && seed.status !== 'failed' && seed.status !== 'deleted'
  if (needsWeights && index.isHubStrict) {
    if (seed.weights !== undefined && !repositories.has(seed.weights.repo)) {
      report(
        'weights.repo',
        describeUnknown('a repository of hub.json, whose policy is refuse', seed.weights.repo, repositories),
      )
    } else if (seed.weights === undefined && seed.base_model === undefined && !repositories.has(seed.model_name)) {
      report(
        'weights',
        `expected the weights to serve: hub.json has no '${seed.model_name}' and its policy is refuse. Add that field.`,
      )
    }
  }
}

function checkFiles(fixture: Fixture, report: ReportProblem): void {
  const files = new Map(fixture.files.map(file => [file.id, file]))
  for (const [position, { path, content, created_at, expires_at }] of fixture.files.entries()) {
    if (content === undefined) {
      const text =
        path === undefined
          ? "expected 'path' or 'content', got neither. Add one."
          : "a path needs a fixture's folder. Give 'content' in its place."
      report('files', [position, path === undefined ? 'content' : 'path'], text)
    }
    if (expires_at !== undefined && expires_at < created_at) {
      report(
        'files',
        [position, 'expires_at'],
        `expected a time not before created_at, got ${expires_at}. Fix that value.`,
      )
    }
  }
  for (const [position, batch] of fixture.batches.entries()) {
    const input = files.get(batch.input_file_id)
    if (input === undefined) {
      report(
        'batches',
        [position, 'input_file_id'],
        describeUnknown('a file of files.json', batch.input_file_id, files.keys()),
      )
    } else if (input.purpose !== 'batch') {
      report(
        'batches',
        [position, 'input_file_id'],
        `expected a file of purpose 'batch', got one of '${input.purpose}'. Fix that value.`,
      )
    }
    let previous = batch.created_at
    for (const field of ['in_progress_at', 'finalizing_at', 'completed_at'] as const) {
      const time = batch[field]
      if (time === undefined) continue
      if (time < previous) {
        report(
          'batches',
          [position, field],
          `expected a time not before the steps that come first, ${previous}, got ${time}. Fix that value.`,
        )
      }
      previous = time
    }
  }
}

function describeUnknown(what: string, got: string, candidates: Iterable<string>): string {
  const suggestion = nearestWord(got, candidates)
  return `expected ${what}, got '${got}'.${suggestion === undefined ? '' : ` Did you mean '${suggestion}'?`} Fix that value.`
}
