// Only conveniences: the console works without this script.
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

// Without this, a second click would send the form again and hide the new key.
document.addEventListener('submit', (event) => {
  if (event.target.dataset.sent) event.preventDefault();
  event.target.dataset.sent = 'yes';
});

// The Back button may restore a page. It must not show the key again, and its form must not count
// as sent.
addEventListener('pagehide', () => key?.removeAttribute('value'));
addEventListener('pageshow', (event) => {
  if (event.persisted) location.replace(location.pathname);
});
