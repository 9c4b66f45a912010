/** Escaped markup. */
export class HTML {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = HTML | string | number | undefined | false | readonly Part[];

/** A template that escapes every value except `HTML`. */
export function html(strings: TemplateStringsArray, ...values: readonly Part[]): HTML {
  return new HTML(strings.reduce((text, string, index) => text + render(values[index - 1]) + string));
}

function render(part: Part): string {
  if (part === undefined || part === false) return '';
  if (part instanceof HTML) return part.text;
  if (typeof part === 'object') return part.map(render).join('');
  return String(part).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
