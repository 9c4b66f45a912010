import { completeFromList, ifNotIn } from '@codemirror/autocomplete';
import { javascriptLanguage, localCompletionSource, scopeCompletionSource } from '@codemirror/lang-javascript';
import { LanguageSupport } from '@codemirror/language';
import type { Offered } from './offered.ts';

const keywords =
  'async await break case catch const continue default do else false finally for function if in instanceof let new null of return ' +
  'switch throw true try typeof undefined while yield';

/** Those of the sandbox that code is likely to need. */
const globals = [
  'Array BigInt Boolean Date Error Intl Iterator JSON Map Math Number Object Promise RegExp Set String Temporal TypeError',
  'atob btoa crypto structuredClone TextDecoder TextEncoder URL URLSearchParams',
  'decodeURIComponent encodeURIComponent isFinite isNaN parseFloat parseInt',
].flatMap((names) => names.split(' '));

/** Methods of the sandbox's console, in place of the browser's. */
const console = withProperties(['log', 'info', 'debug', 'warn', 'error', 'table', 'dir', 'trace']);

/** The body of a function: words of the language, names that it declares, those that it is given, and standard ones. */
export function javascriptSupport({ names = {} }: Offered): LanguageSupport {
  const standard = globals.map((name): [string, unknown] => [name, Reflect.get(globalThis, name)]);
  const known = standard.filter(([, value]) => value !== undefined);
  const sources = [
    ifNotIn(
      ['String', 'TemplateString', 'LineComment', 'BlockComment', 'RegExp', 'PropertyName', '.', '?.'],
      completeFromList(keywords.split(' ').map((label) => ({ label, type: 'keyword' }))),
    ),
    localCompletionSource,
    scopeCompletionSource({ ...Object.fromEntries(known), console, ...names }),
  ];
  return new LanguageSupport(
    javascriptLanguage,
    sources.map((autocomplete) => javascriptLanguage.data.of({ autocomplete })),
  );
}

/** Without those that every object has. */
function withProperties(names: readonly string[]): object {
  return Object.assign(Object.create(null), Object.fromEntries(names.map((name) => [name, null])));
}
