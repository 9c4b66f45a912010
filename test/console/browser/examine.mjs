/** Runs within a page, beside axe: its findings, elements wider than the window, and the colours that were looked at. */
globalThis.examine = async ({ rules, ofNew, colours, seen }) => {
  // Colours that still change are those of neither scheme. Transitions in a closed group stand still: they would never end.
  const moving = document
    .getAnimations()
    .filter(({ transitionProperty, effect }) => transitionProperty && effect.target.checkVisibility());
  await Promise.allSettled(moving.map(({ finished }) => finished));
  const results = [];
  if (rules) results.push(await findings(document, { ...rules, resultTypes: ['violations'] }));
  const others = ofNew ? shown().filter((element) => !before.has(element)) : [];
  if (others.length > 0) results.push(await findings({ include: others }, { ...ofNew, resultTypes: ['violations'] }));
  const ofColours = colours ? await colourFindings(colours, new Set(seen)) : { violations: [], looked: [] };
  before = new WeakSet(shown());
  const violations = [...results, ofColours].flatMap((one) => one.violations);
  return { violations, wider: widerThanWindow(), looked: ofColours.looked };
};

/** Elements that the page showed when it was examined before. */
let before = new WeakSet();

function shown() {
  return [...document.body.querySelectorAll('*')].filter((element) => element.checkVisibility());
}

async function findings(context, options) {
  const { violations, passes } = await axe.run(context, { ...options, preload: false });
  return { violations: violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`)), passes };
}

/** Findings of colours in texts that look like none before. Those that axe leaves out, such as the label of a field that is disabled, are not looked at by that. */
async function colourFindings(rules, seen) {
  const unseen = unseenOf(seen);
  if (unseen.size === 0) return { violations: [], looked: [] };
  const options = { ...rules, resultTypes: ['violations', 'passes'], elementRef: true };
  const { violations, passes } = await findings({ include: [...unseen.values()].flat() }, options);
  const passed = new Set(passes.flatMap(({ nodes }) => nodes.map(({ element }) => element)));
  return { violations, looked: [...unseen.keys()].filter((key) => unseen.get(key).some((one) => passed.has(one))) };
}

/** Elements with a text, by a number for all that decides whether it can be read, of those numbers that are not known. */
function unseenOf(seen) {
  const found = new Map();
  grounds.clear();
  for (const element of shown()) {
    if (!hasText(element)) continue;
    const key = hashOf(looksOf(element));
    if (!seen.has(key)) found.set(key, [...(found.get(key) ?? []), element]);
  }
  return found;
}

function hasText(element) {
  if (element.matches('input, textarea, select')) return true;
  return [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim() !== '');
}

/** The text's own style, that of a sentence around a link, and what lies above and below: by the place, and by the elements around. */
function looksOf(element) {
  const { left, top, width, height } = element.getBoundingClientRect();
  const placed = document.elementsFromPoint(left + width / 2, top + height / 2);
  const at = placed.indexOf(element);
  const link = element.closest('a');
  return [
    textStyleOf(element),
    link?.parentElement ? `link in ${textStyleOf(link.parentElement)}` : '',
    `under ${placed.slice(0, Math.max(at, 0)).map(groundOf).join('')}`,
    `over ${at < 0 ? '' : placed.slice(at).map(groundOf).join('')}`,
    `in ${ancestorsOf(element).map(groundOf).join('')}`,
  ].join(' ');
}

function textStyleOf(element) {
  const { color, fontSize, fontWeight, textShadow, textDecorationLine } = getComputedStyle(element);
  return [
    color,
    fontSize,
    fontWeight,
    textShadow,
    textDecorationLine,
    element.matches('[disabled], [aria-disabled=true], [data-disabled]'),
  ].join();
}

const grounds = new Map();

function groundOf(element) {
  const known = grounds.get(element);
  if (known !== undefined) return known;
  const { backgroundColor, backgroundImage, filter, mixBlendMode, opacity } = getComputedStyle(element);
  const parts = [backgroundColor, backgroundImage, filter, mixBlendMode, opacity];
  const ground = parts.filter((part) => !['rgba(0, 0, 0, 0)', 'none', 'normal', '1'].includes(part)).join();
  grounds.set(element, ground);
  return ground;
}

function ancestorsOf(element) {
  const found = [];
  for (let one = element; one; one = one.parentElement) found.push(one);
  return found;
}

function hashOf(text) {
  let hash = 0;
  for (let at = 0; at < text.length; at += 1) hash = (Math.imul(hash, 31) + text.charCodeAt(at)) | 0;
  return hash;
}

/**
 * Elements wider than the window, if the page scrolls sideways, and buttons of rows that are seen only after scrolling a list. A cut
 * value is a button too, which its column may hide.
 */
function widerThanWindow() {
  const rightOf = (element) => element.getBoundingClientRect().right;
  const edgeOf = (button) => {
    const pinned = button.closest('tr').querySelector('.pinned');
    if (pinned && !pinned.contains(button)) return pinned.getBoundingClientRect().left;
    return rightOf(button.closest('.scroller'));
  };
  const hidden = [...document.querySelectorAll('main .scroller td button:not(.cut-text)')].filter(
    (button) => rightOf(button) > edgeOf(button) + 1,
  );
  if (hidden.length > 0) return hidden.map(({ outerHTML }) => `out of view: ${outerHTML.slice(0, 150)}`);
  if (document.documentElement.scrollWidth <= innerWidth) return [];
  const wider = [...document.querySelectorAll('body *')].filter((element) => rightOf(element) > innerWidth);
  return ['the page scrolls sideways', ...wider.map(({ outerHTML }) => outerHTML.slice(0, 150))];
}
