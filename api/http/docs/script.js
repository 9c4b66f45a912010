'use strict';
{
  const filter = document.getElementById('filter');
  const items = [...document.querySelectorAll('[data-find]')];
  const groups = [...document.querySelectorAll('[data-group]')];

  function narrow() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const item of items) item.hidden = !words.every((word) => item.dataset.find.includes(word));
    for (const group of groups) group.hidden = !group.querySelector('[data-find]:not([hidden])');
    document.getElementById('nothing').hidden = items.some((item) => !item.hidden);
  }

  function openLinked() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target?.tagName !== 'DETAILS') return;
    target.open = true;
    target.scrollIntoView();
  }

  filter.addEventListener('input', narrow);
  addEventListener('hashchange', openLinked);
  document.addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.target === filter) return;
    event.preventDefault();
    filter.focus();
  });

  for (const example of document.querySelectorAll('[data-curl]'))
    example.textContent = example.textContent.replace('http://localhost:8080', location.origin);

  for (const button of document.querySelectorAll('[data-copy]')) {
    button.hidden = false;
    button.addEventListener('click', async () => {
      const example = button.closest('details').querySelector('[data-curl]');
      try {
        await navigator.clipboard.writeText(example.textContent);
        button.textContent = 'Copied';
        setTimeout(() => { button.textContent = 'Copy'; }, 1500);
      } catch {
        getSelection().selectAllChildren(example);
      }
    });
  }

  narrow();
  openLinked();
}
