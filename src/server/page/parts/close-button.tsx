/** Closes a part of the page. `what` names it: 'the inspector'. */
export function CloseButton({ what, onClick }: { what: string; onClick: () => void }) {
  return (
    <button type="button" class="quiet" aria-label={`Close ${what}`} onClick={onClick}>
      ✕
    </button>
  )
}
