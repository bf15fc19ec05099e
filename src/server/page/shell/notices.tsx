import { CloseButton } from '../parts/close-button.tsx'
import { CopyButton } from '../parts/copy-button.tsx'
import { useSession } from '../store/session.ts'

/** Says what the newest action did or why it failed, with the command line that does the same. */
export function Notices() {
  const session = useSession()
  const notice = session.notice.value
  return (
    <div class="notices" aria-live="polite">
      {notice !== undefined && (
        <div class={`notice ${notice.kind}`}>
          <span class="glyph" aria-hidden="true">
            {notice.kind === 'done' ? '✓' : '✗'}
          </span>
          <span class="notice-text">{notice.text}</span>
          {notice.request !== undefined && (
            <CopyButton label="Copy as curl" text={() => session.curlOf(notice.request!)} />
          )}
          <CloseButton
            what="the message"
            onClick={() => {
              session.notice.value = undefined
            }}
          />
        </div>
      )}
    </div>
  )
}
