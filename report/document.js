// What the buttons do; without it they stay hidden, and the page shows the same.
for (const button of document.querySelectorAll('button.copy')) {
  const code = button.previousElementSibling;
  button.hidden = false;
  button.addEventListener('click', async () => {
    try { await navigator.clipboard.writeText(code.textContent); } catch {
      getSelection().selectAllChildren(code);
      document.execCommand('copy');
    }
    button.textContent = 'Copied';
  });
}
