import { useSignal } from '@preact/signals'
import { Button, CloseButton, CopyButton } from '../parts/buttons.tsx'
import { bound } from '../parts/fields.tsx'
import { clear, set } from '../parts/hooks.ts'
import { DetailsHead, Overlay } from '../parts/panel.tsx'
import { Glyph } from '../parts/words.tsx'
import { HttpConnection } from '../store/ask.ts'
import { useSession } from '../store/session.ts'
import { viewsOf } from '../views/all-views.ts'
import { ClockBar } from './clock-bar.tsx'
import { Finder } from './finder.tsx'
import { Header } from './header.tsx'
import { Inspector } from './inspector.tsx'
import { KEYS, type Overlaid, useKeyboard } from './keyboard.ts'
import { Worlds } from './worlds.tsx'

export function App() {
  const session = useSession()
  const overlay = useSignal<Overlaid>(undefined)
  const close = clear(overlay)
  useKeyboard(overlay)
  if (session.feed.link.value === 'locked') return <TokenPrompt />
  const { view: name, id } = session.place.value
  const views = viewsOf(session)
  const view = views.find(each => each.name === name) ?? views[0]!
  return (
    <>
      <Button words="Skip to the view" class="skip" onClick={() => document.getElementById('main')?.focus()} />
      <Header show={which => set(overlay, which)} />
      <nav class="tabs" aria-label="Views">
        {views.map(({ name, title, glyph }) => (
          <a
            key={name}
            href={session.place.link({ view: name })}
            aria-current={name === view.name ? 'page' : undefined}
            title={title}
          >
            <Glyph of={glyph} />
            <span class="tab-title">{title}</span>
          </a>
        ))}
      </nav>
      <ClockBar />
      <main id="main" tabIndex={-1} aria-label={view.title}>
        <h1 class="hidden">{view.title}</h1>
        <view.component key={`${view.name} ${session.world.value}`} />
      </main>
      {id !== undefined && <Inspector key={id} id={id} close={() => session.place.go({ id: undefined })} />}
      {overlay.value === 'help' && <Help close={close} />}
      {overlay.value === 'finder' && <Finder close={close} />}
      {overlay.value === 'worlds' && <Worlds close={close} />}
      <Notices />
    </>
  )
}

/** Says what the newest action did or why it failed, with the command line that does the same. */
function Notices() {
  const session = useSession()
  const notice = session.notice.value
  return (
    <div class="notices" aria-live="polite">
      {notice !== undefined && (
        <div class={`notice ${notice.kind}`}>
          <Glyph of={notice.kind === 'done' ? '✓' : '✗'} />
          <span class="notice-text">{notice.text}</span>
          {notice.request !== undefined && (
            <CopyButton label="Copy as curl" text={() => session.curlOf(notice.request!)} />
          )}
          <CloseButton what="the message" onClick={clear(session.notice)} />
        </div>
      )}
    </div>
  )
}

/** Asks for the control token of a server that other machines can reach. */
function TokenPrompt() {
  const session = useSession()
  const token = useSignal('')
  const isWrong = useSignal(false)
  const submit = async (event: Event) => {
    event.preventDefault()
    const { connection } = session
    if (!(connection instanceof HttpConnection)) return
    connection.useToken(token.value.trim())
    isWrong.value = (await session.send('/_sim/clock')).status === 401
    if (!isWrong.value) session.reconnect()
  }
  return (
    <form class="prompt" onSubmit={submit}>
      <h1>Control token</h1>
      <p>The control plane of this server requires the token that it printed.</p>
      <label>
        Token
        <input type="password" autocomplete="off" {...bound(token)} />
      </label>
      {isWrong.value && <p role="alert">✗ The server does not accept this token. See its line “control”.</p>}
      <Button words="Continue" type="submit" />
    </form>
  )
}

/** The keys of the page. */
function Help({ close }: { close: () => void }) {
  return (
    <Overlay label="Keys">
      <DetailsHead what="the help" close={close} title="Keys" />
      <table>
        <tbody>
          {KEYS.map(([keys, meaning]) => (
            <tr key={keys}>
              <th scope="row">
                <kbd>{keys}</kbd>
              </th>
              <td>{meaning}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="faint">“JSON” shows the data’s address. After most actions, “Copy as curl” copies the command.</p>
    </Overlay>
  )
}
