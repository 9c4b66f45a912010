import { EditorView } from '@codemirror/view';

/** Its colours are variables of the console, which differ by the scheme and have a contrast of 4.5 : 1 in both. */
export const theme = EditorView.theme({
  '&': { fontSize: '0.8rem', color: 'var(--mantine-color-text)' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': {
    fontFamily: 'var(--mantine-font-family-monospace)',
    lineHeight: 'var(--code-line)',
    maxHeight: 'calc(var(--code-most) * var(--code-line) + 12px)',
    overflow: 'auto',
  },
  '.cm-content': {
    // Without a size of its own, which the browser would find by laying out all lines at once.
    flexBasis: '0',
    minWidth: '0',
    padding: '6px 0',
    minHeight: 'calc(var(--code-least) * var(--code-line) + 12px)',
    caretColor: 'var(--mantine-color-text)',
  },
  '.cm-line': { padding: '0 10px' },
  '.cm-gutters': {
    backgroundColor: 'transparent',
    color: 'var(--mantine-color-dimmed)',
    border: 'none',
    borderRight: '1px solid var(--line)',
  },
  '.cm-placeholder': { color: 'var(--mantine-color-placeholder)' },
  '.cm-specialChar': { color: 'var(--bad)' },
  '&.cm-focused .cm-matchingBracket': { backgroundColor: 'transparent', outline: '1px solid var(--busy)' },
  '&.cm-focused .cm-nonmatchingBracket': { backgroundColor: 'transparent', outline: '1px solid var(--bad)' },
  '.tok-keyword, .tok-bool, .tok-null, .tok-atom, .tok-operatorKeyword': { color: 'var(--busy)' },
  '.tok-string, .tok-string2': { color: 'var(--ok)' },
  '.tok-number, .tok-typeName, .tok-className': { color: 'var(--wait)' },
  '.tok-comment': { color: 'var(--idle)', fontStyle: 'italic' },
  '.tok-invalid': { color: 'var(--bad)' },
  '.tok-propertyName': { color: 'var(--mantine-color-anchor)' },
  '.cm-tooltip': {
    border: '1px solid var(--line)',
    borderRadius: '6px',
    backgroundColor: 'var(--panel)',
    color: 'var(--mantine-color-text)',
    overflow: 'hidden',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': {
    fontFamily: 'var(--mantine-font-family-monospace)',
    maxWidth: '90vw',
    // It has few options at a time, and scrolls not: only the field has the focus.
    maxHeight: 'none',
    overflow: 'hidden',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '3px 10px', lineHeight: '1.4' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { background: 'var(--busy)', color: 'var(--panel)' },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '700' },
  '.cm-completionDetail': { marginLeft: '1em', fontStyle: 'normal', opacity: '1', color: 'inherit' },
});
