import { INSERT } from './context.ts';
import { type Change, insertion, type Syntax } from './path.ts';
import type { Key } from './value.ts';

export type NativeField = HTMLInputElement | HTMLTextAreaElement;

/** The field of the browser in an element, if it has one and no editor of code; that of the picker is none. */
export function nativeFieldIn(element: Element | null): NativeField | null {
  return (
    element?.querySelector<NativeField>('input:not([type="hidden"], [type="radio"], .value-find), textarea') ?? null
  );
}

interface Put {
  syntax: Syntax;
  wasEntered: boolean;
  /** Whether a text is an example, in whose place the value comes. */
  isSample: (text: string) => boolean;
}

/** Puts a value into the field in an element: where the caret was, or at the end of a field that has not been entered. */
export function putInto(element: Element | null, path: readonly Key[], { syntax, wasEntered, isSample }: Put): void {
  const field = nativeFieldIn(element);
  if (!field) {
    element?.querySelector('.cm-content')?.dispatchEvent(new CustomEvent(INSERT, { detail: path }));
    return;
  }
  const end = field.value.length;
  const isReplaced = isSample(field.value);
  const from = isReplaced ? 0 : wasEntered ? (field.selectionStart ?? end) : end;
  const to = !isReplaced && wasEntered ? (field.selectionEnd ?? end) : end;
  const change = insertion(field.value, { from, to }, path, syntax);
  if (change) changeField(field, change);
}

/** Changes the text of a field as typing does, so that React hears of it. */
export function changeField(field: NativeField, { from, to, insert, caret }: Change): void {
  field.focus();
  field.setRangeText(insert, from, to, 'end');
  field.setSelectionRange(caret, caret);
  field.dispatchEvent(new Event('input', { bubbles: true }));
}
