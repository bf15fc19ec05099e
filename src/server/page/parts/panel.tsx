import type { ComponentChildren } from 'preact'
import { type ControlRoute, encodeRequest, type FieldsByRoute } from '../store/ask.ts'
import { useSession } from '../store/session.ts'
import { CloseButton, CopyButton } from './buttons.tsx'

interface PanelProps<Route extends ControlRoute> extends Partial<AddressProps<Route>> {
  readonly title: string
  /** Default: the title. */
  readonly label?: string
  /** Why the figures could not be read. */
  readonly error?: string | undefined
  readonly children: ComponentChildren
}

/** A part of a view with its title and the address of its figures, if it has one. */
export function Panel<Route extends ControlRoute>(props: PanelProps<Route>) {
  const { title, label, error, children, route, name, ...address } = props
  return (
    <section class="panel" aria-label={label ?? title}>
      <div class="panel-title">
        <h2>{title}</h2>
        {route !== undefined && <Address route={route} name={name ?? label ?? title} {...address} />}
      </div>
      <Problem text={error} />
      {children}
    </section>
  )
}

/** Says what went wrong; nothing without a text. */
export function Problem({ text }: { text: string | undefined }) {
  return text === undefined ? null : <p role="alert">✗ {text}</p>
}

interface AddressProps<Route extends ControlRoute> {
  readonly route: Route
  readonly fields?: FieldsByRoute[Route]
  /** What the address has, if a view has several: `Ledger`. */
  readonly name?: string
}

/** Shows where the figures of a view come from: the request that answers them as JSON. */
export function Address<Route extends ControlRoute>({ route, fields, name }: AddressProps<Route>) {
  const session = useSession()
  const curl = () => session.curlOf(encodeRequest(route, fields as Record<string, unknown>))
  return (
    <details class="address">
      <summary title="Where these figures come from">{name === undefined ? 'JSON' : `${name} as JSON`}</summary>
      <div class="address-box">
        <code>{curl()}</code>
        <CopyButton label="Copy" text={curl} />
      </div>
    </details>
  )
}

type DetailsHeadProps = { what: string; close: () => void; title?: string; children?: ComponentChildren }

/** The title of something that is open beside a view, with the button that closes it: 'the inspector'. */
export function DetailsHead({ what, close, title, children }: DetailsHeadProps) {
  return (
    <div class="details-head">
      <div>
        {title !== undefined && <h2 class="break">{title}</h2>}
        {children}
      </div>
      <CloseButton what={what} onClick={close} />
    </div>
  )
}

type OverlayProps = { label: string; class?: string; children: ComponentChildren }

/** A box above the page. */
export function Overlay({ label, class: style = '', children }: OverlayProps) {
  return (
    <div class="overlay" role="dialog" aria-modal="true" aria-label={label}>
      <div class={`overlay-box ${style}`}>{children}</div>
    </div>
  )
}
