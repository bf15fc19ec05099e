import { useSignal } from '@preact/signals'
import { bound } from '../store/bound.ts'
import { HttpConnection } from '../store/http-connection.ts'
import { useSession } from '../store/session.ts'

/** Asks for the control token of a server that other machines can reach. */
export function TokenPrompt() {
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
      <button type="submit">Continue</button>
    </form>
  )
}
