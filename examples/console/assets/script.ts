/** The script of all pages. The console works without it. */
export const SCRIPT = `
const key = document.querySelector('#key');

for (const button of document.querySelectorAll('[data-copies]'))
  button.addEventListener('click', async () => {
    const message = button.parentElement.querySelector('[role=status]');
    try {
      await navigator.clipboard.writeText(key.value);
      message.textContent = 'Copied.';
    } catch {
      key.select();
      message.textContent = 'Press Ctrl+C or Cmd+C to copy.';
    }
  });

// Without this, a second click would send the form again, and could hide the first new key.
document.addEventListener('submit', (event) => {
  if (event.target.dataset.sent) event.preventDefault();
  event.target.dataset.sent = 'yes';
});

// A reload of the page with the key must not send its form again.
if (key) history.replaceState(null, '', key.dataset.page);

// The Back button may restore a page. It must not show the key again, and its form must not count
// as sent.
addEventListener('pagehide', () => key?.removeAttribute('value'));
addEventListener('pageshow', (event) => {
  if (event.persisted) location.replace(location.href);
});
`;
