import { useSignal } from '@preact/signals'
import { useMemo, useRef } from 'preact/hooks'
import { Choice } from '../../parts/buttons.tsx'
import { CommandButtons, CommandForm, type WorldCommand } from '../../parts/fields.tsx'
import { formatCount, plural } from '../../parts/format.ts'
import { set } from '../../parts/hooks.ts'
import { Address, DetailsHead, Problem } from '../../parts/panel.tsx'
import { useSession } from '../../store/session.ts'
import { useAnswer } from '../../store/use-answer.ts'
import { COLORINGS, FleetMap } from './fleet-map.tsx'
import {
  colorOf,
  describeGpu,
  describeState,
  type Fleet,
  type FleetNode,
  GPU_CODES,
  lettersOf,
  toFleet,
} from './fleet-model.ts'
import { FleetSummary, OwnerMark } from './fleet-summary.tsx'

const COLORING_TITLES = { owner: 'Owner', load: 'Load', health: 'Health' } as const

/** The nodes of the fleet, and who holds each GPU. */
export function FleetView() {
  const session = useSession()
  const { value: answer, error } = useAnswer('GET /_sim/fleet', {})
  const places = useRef(new Map<string, number>())
  const fleet = useMemo(() => answer && toFleet(answer, places.current), [answer])
  const { place } = session
  const { by, node: selected, gpu: gpuText } = place.value
  const owner = useSignal<string | undefined>(undefined)
  const coloring = COLORINGS.find(name => name === by) ?? 'owner'
  const node = selected === undefined ? undefined : fleet?.nodes.get(selected)
  const gpu = gpuText === undefined ? undefined : Number(gpuText)
  const choose = (chosen: FleetNode, chosenGpu: number | undefined) => {
    const holder = chosenGpu === undefined ? undefined : chosen.holders[chosen.gpus[chosenGpu]!]
    place.go({
      node: chosen.name,
      gpu: chosenGpu === undefined ? undefined : String(chosenGpu),
      ...(holder !== undefined && { id: holder.id }),
    })
  }
  return (
    <div class="fleet">
      <div class="toolbar">
        {fleet !== undefined && <Totals fleet={fleet} />}
        {fleet !== undefined && fleet.waiting_count > 0 && (
          <p class="warn">‖ {plural(fleet.waiting_count, 'deployment')} waiting for GPUs</p>
        )}
        <span class="space" />
        <Choice
          label="Colour"
          options={COLORING_TITLES}
          value={coloring}
          onChange={value => place.go({ by: value === 'owner' ? undefined : value }, 'replace')}
        />
        <Address route="GET /_sim/fleet" />
      </div>
      <Problem text={error} />
      {fleet === undefined && error === undefined && <p class="empty">Reading the fleet …</p>}
      {fleet !== undefined && (
        <div class="fleet-body">
          <FleetMap {...{ fleet, coloring, selected }} owner={owner.value} onChoose={choose} />
          <aside class="fleet-aside" aria-label="Owners and types">
            {node !== undefined && <NodePanel {...{ fleet, node, gpu }} onChooseGpu={chosen => choose(node, chosen)} />}
            <FleetSummary fleet={fleet} coloring={coloring} onHover={id => set(owner, id)} />
          </aside>
        </div>
      )}
    </div>
  )
}

function Totals({ fleet: { totals } }: { fleet: Fleet }) {
  const { nodes, gpus, held, free, others, unusable } = totals
  return (
    <p class="totals">
      <b>{formatCount(nodes)}</b> {nodes === 1 ? 'node' : 'nodes'} · <b>{formatCount(gpus)}</b>{' '}
      {gpus === 1 ? 'GPU' : 'GPUs'}: <b>{formatCount(held)}</b> held, <b>{formatCount(free)}</b> free,{' '}
      <b>{formatCount(others)}</b> of other customers,{' '}
      <span class={unusable > 0 ? 'bad' : ''}>
        <b>{formatCount(unusable)}</b> unusable
      </span>
    </p>
  )
}

interface NodePanelProps {
  readonly fleet: Fleet
  readonly node: FleetNode
  /** Number of the chosen GPU. */
  readonly gpu: number | undefined
  readonly onChooseGpu: (gpu: number) => void
}

/** The selected node: what it is, who is on it, and the commands that break and repair it. */
function NodePanel({ fleet, node, gpu, onChooseGpu }: NodePanelProps) {
  const { place } = useSession()
  const { value: commands = [] } = useAnswer('GET /_sim/commands', {}, { refresh: 'once' })
  const { value: troubles = [] } = useAnswer('GET /_sim/troubles', {}, { refresh: 'requests' })
  const { name, group } = node
  const chosen = gpu === undefined ? undefined : `${name}/${gpu}`
  const commandOf = (verb: string) => commands.find(command => command.verb === verb)
  const own = troubles.filter(({ undo }) => {
    const target = undo?.target
    return target === name || target === group.zone || target?.startsWith(`${name}/`) === true
  })
  return (
    <section class="panel node-panel" aria-label={`Node ${name}`}>
      <DetailsHead what="the node" close={() => place.go({ node: undefined, gpu: undefined })}>
        <h2 class="mono">{name}</h2>
      </DetailsHead>
      <p class={node.state === 'ready' ? '' : 'warn'}>{describeState(node)}</p>
      <p class="faint">
        {group.gpus} × {group.gpu} · {group.pool} · {group.zone}
        {group.market === 'spot' && ' · spot'}
      </p>
      {own.map(({ what, undo }) => {
        const command = undo && commandOf(undo.verb)
        return (
          <p key={what} class="trouble">
            <span class="bad">✗ {what}</span>
            {command !== undefined && (
              <CommandForm look="button" command={command} target={undo!.target} class="primary" />
            )}
          </p>
        )
      })}
      <ol class="node-gpus" aria-label={`GPUs of ${name}`}>
        {node.gpus.map((code, index) => {
          const owner = fleet.owners.get(node.holders[code]?.owner ?? '')
          const mark = code === GPU_CODES.broken ? '✗' : code === GPU_CODES.others ? '·' : index
          return (
            <li key={index}>
              <button
                type="button"
                class={code === GPU_CODES.broken ? 'bad' : ''}
                aria-pressed={index === gpu}
                aria-label={describeGpu(fleet, node, index)}
                style={owner && { background: `var(--${colorOf(owner.index)})`, color: 'var(--on-owner)' }}
                onClick={() => onChooseGpu(index)}
              >
                {owner === undefined ? mark : lettersOf(owner.index)}
              </button>
            </li>
          )
        })}
      </ol>
      {chosen !== undefined && gpu! < node.gpus.length && (
        <>
          <p>{describeGpu(fleet, node, gpu!)}</p>
          <Commands title={`GPU ${gpu}`} commands={breakingCommands(commands, 'gpu')} target={chosen} />
        </>
      )}
      <Commands
        title="Break this node"
        commands={breakingCommands(commands, 'node').filter(
          ({ verb }) => verb !== 'node.preempt' || group.market === 'spot',
        )}
        target={name}
      />
      <Commands title={`Break zone ${group.zone}`} commands={breakingCommands(commands, 'zone')} target={group.zone} />
      <Holders fleet={fleet} node={node} />
    </section>
  )
}

function Commands({ title, commands, target }: { title: string; commands: readonly WorldCommand[]; target: string }) {
  if (commands.length === 0) return null
  return (
    <div class="commands" role="group" aria-label={title}>
      <span class="faint">{title}</span>
      <CommandButtons commands={commands} target={target} class="danger" />
    </div>
  )
}

function Holders({ fleet: { owners }, node: { holders } }: { fleet: Fleet; node: FleetNode }) {
  const session = useSession()
  if (holders.length === 0) return <p class="faint">Nothing of yours runs on it.</p>
  return (
    <ul class="plain">
      {holders.map(({ id, owner, state }) => {
        const { index = 0, name = owner } = owners.get(owner) ?? {}
        return (
          <li key={id}>
            <button type="button" class="owner" onClick={() => session.place.go({ id })}>
              <OwnerMark index={index} />
              <span class="owner-name">{name}</span>
              <span class="faint mono">{id}</span>
              <span class="faint">{state}</span>
            </button>
          </li>
        )
      })}
    </ul>
  )
}

/** Returns the commands that break a kind of thing. What undoes one of them is listed after it. */
function breakingCommands(commands: readonly WorldCommand[], target: string): WorldCommand[] {
  const undoing = new Set<string>()
  return commands.filter(command => {
    if (undoing.has(command.verb)) return false
    if (command.undo !== null) undoing.add(command.undo)
    return command.target === target
  })
}
