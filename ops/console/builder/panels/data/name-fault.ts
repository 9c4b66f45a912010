const UNREADABLE: readonly string[] = ['__proto__', 'prototype', 'constructor', '.', '..'];

/** Why a name cannot be given to a data source or a variable, beside those that are taken. */
export function faultOfName(name: string, taken: readonly string[]): string | undefined {
  if (name === '') return 'It needs a name';
  if (UNREADABLE.includes(name)) return 'Expressions cannot read this name';
  if (taken.includes(name)) return 'This page has it already';
  return undefined;
}
