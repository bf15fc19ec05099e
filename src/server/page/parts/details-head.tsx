import type { ComponentChildren } from 'preact'
import { CloseButton } from './close-button.tsx'

interface DetailsHeadProps {
  /** What the button closes: 'the inspector'. */
  readonly what: string
  readonly close: () => void
  readonly children: ComponentChildren
}

/** The title of something that is open beside a view, with the button that closes it. */
export function DetailsHead({ what, close, children }: DetailsHeadProps) {
  return (
    <div class="details-head">
      <div>{children}</div>
      <CloseButton what={what} onClick={close} />
    </div>
  )
}
