import { text, toneOf, type WidgetProps } from '../page-context.ts';

export function BadgeWidget({ title, properties: { label, variant } }: WidgetProps) {
  return (
    <span className="page-badge" data-tone={toneOf(variant)}>
      <bdi>{text(label, title)}</bdi>
    </span>
  );
}
