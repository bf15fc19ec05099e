import { CloseButton } from '../../parts/close-button.tsx'
import { CommandForm, type WorldCommand } from '../../parts/command-form.tsx'
import { useSession } from '../../store/session.ts'
import { useAnswer } from '../../store/use-answer.ts'
import { colorOf, type Fleet, type FleetNode, GPU_CODES, lettersOf } from './fleet-model.ts'
import { describeGpu, describeState } from './fleet-words.ts'

interface NodePanelProps {
  readonly fleet: Fleet
  readonly node: FleetNode
  /** Number of the chosen GPU. */
  readonly gpu: number | undefined
  readonly onChooseGpu: (gpu: number) => void
  readonly onClose: () => void
}

/** The selected node: what it is, who is on it, and the commands that break and repair it. */
export function NodePanel({ fleet, node, gpu, onChooseGpu, onClose }: NodePanelProps) {
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
      <header class="panel-title">
        <h2 class="mono">{name}</h2>
        <CloseButton what="the node" onClick={onClose} />
      </header>
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
        {node.gpus.map((code, index) => (
          <li key={index}>
            <GpuButton {...{ fleet, node, code, index }} isChosen={index === gpu} onChoose={onChooseGpu} />
          </li>
        ))}
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
      {commands.map(command => (
        <CommandForm key={command.verb} look="button" command={command} target={target} class="danger" />
      ))}
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

interface GpuButtonProps {
  readonly fleet: Fleet
  readonly node: FleetNode
  readonly code: number
  readonly index: number
  readonly isChosen: boolean
  readonly onChoose: (gpu: number) => void
}

function GpuButton({ fleet, node, code, index, isChosen, onChoose }: GpuButtonProps) {
  const owner = fleet.owners.get(node.holders[code]?.owner ?? '')
  return (
    <button
      type="button"
      class={code === GPU_CODES.broken ? 'bad' : ''}
      aria-pressed={isChosen}
      aria-label={describeGpu(fleet, node, index)}
      style={owner && { background: `var(--${colorOf(owner.index)})`, color: 'var(--on-owner)' }}
      onClick={() => onChoose(index)}
    >
      {owner !== undefined
        ? lettersOf(owner.index)
        : code === GPU_CODES.broken
          ? '✗'
          : code === GPU_CODES.others
            ? '·'
            : index}
    </button>
  )
}

/** The colour of an owner with its letters. */
export function OwnerMark({ index }: { index: number }) {
  return (
    <span class="owner-mark" aria-hidden="true" style={{ background: `var(--${colorOf(index)})` }}>
      {lettersOf(index)}
    </span>
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
