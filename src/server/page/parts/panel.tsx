import type { ComponentChildren } from 'preact'
import type { ControlRoute } from '../store/ask.ts'
import { Address, type AddressProps } from './address.tsx'

interface PanelProps<Route extends ControlRoute> extends Partial<AddressProps<Route>> {
  readonly title: string
  /** Default: the title. */
  readonly label?: string
  /** Why the figures could not be read. */
  readonly error?: string | undefined
  readonly children: ComponentChildren
}

/** A part of a view with its title and the address of its figures, if it has one. */
export function Panel<Route extends ControlRoute>({
  title,
  label,
  error,
  children,
  route,
  name,
  ...address
}: PanelProps<Route>) {
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
