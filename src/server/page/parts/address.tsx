import { type ControlRoute, encodeRequest, type FieldsByRoute } from '../store/ask.ts'
import { useSession } from '../store/session.ts'
import { CopyButton } from './copy-button.tsx'

export interface AddressProps<Route extends ControlRoute> {
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
