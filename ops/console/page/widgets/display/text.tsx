import { isObject } from '../../../ui/is-object.ts';
import { Markdown } from '../../../ui/markdown.tsx';
import { choice, text, type WidgetProps } from '../page-context.ts';

/** The text of the property, and behind it that of the first rows of the queries. */
export function TextWidget({ properties: { content, format, align, color }, data }: WidgetProps) {
  const own = isObject(data?.data) ? text(data.data.text) : '';
  const all = `${text(content)}${own}`;
  const style = { textAlign: choice(align, ['left', 'center', 'right'], 'left'), ...(isColor(color) && { color }) };
  if (format === 'markdown')
    return (
      <div style={style}>
        <Markdown text={all} />
      </div>
    );
  return (
    <p className="page-text" style={style} dir="auto">
      {all}
    </p>
  );
}

/** A colour alone: an address in its place would be asked for. */
export function isColor(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    /^(?:#[\da-f]{3,8}|[a-z]{3,24}|(?:rgb|hsl|oklch)a?\([\d\s.,%/deg-]{1,60}\))$/i.test(value)
  );
}
