/** Characters that turn the text after them around are shown by their codes: a name must not look like another. */
const TURNING = /[\u202a-\u202e\u2066-\u2069]/g;

export function withoutTurning(text: string): string {
  return text.replace(TURNING, codeOf);
}

export function codeOf(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
