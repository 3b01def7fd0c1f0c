// Conveniences: the console does its work without them.
const key = document.querySelector('#key');

for (const button of document.querySelectorAll('[data-copies]'))
  button.addEventListener('click', async () => {
    const said = button.parentElement.querySelector('[role=status]');
    try {
      await navigator.clipboard.writeText(key.value);
      said.textContent = 'Copied.';
    } catch {
      key.select();
      said.textContent = 'Press Ctrl+C or Cmd+C.';
    }
  });

// A second click would ask for a second key, and hide the first.
document.addEventListener('submit', (event) => {
  if (event.target.dataset.sent) event.preventDefault();
  event.target.dataset.sent = 'yes';
});

// "Back" may bring a page as it was left: without its key, and with a form that has not been sent.
addEventListener('pagehide', () => key?.removeAttribute('value'));
addEventListener('pageshow', (event) => {
  if (event.persisted) location.replace(location.pathname);
});
