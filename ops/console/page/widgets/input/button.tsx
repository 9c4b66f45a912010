import { Button } from '@mantine/core';
import { useState } from 'react';
import { flag, type Properties, text, usePage, type WidgetProps } from '../page-context.ts';

/**
 * White words on them have a contrast of at least 4.5 in both schemes. Mantine darkens them below a pointer: the last shades of its own
 * colours it brightens.
 */
const variants: Readonly<Record<string, object>> = {
  danger: { color: '#c92a2a' },
  success: { color: '#087f5b' },
  warning: { color: '#b8400e' },
  neutral: { variant: 'default' },
};

export function ButtonWidget({ widgetKey, title, properties }: WidgetProps) {
  const page = usePage();
  const [isBusy, setBusy] = useState(false);
  const press = async () => {
    const question = text(properties.confirmation);
    if (question !== '' && !(await page.messages.ask(question))) return;
    setBusy(true);
    try {
      if (await page.fire(widgetKey, 'onClick')) await page.fire(widgetKey, 'onSubmit');
    } finally {
      setBusy(false);
    }
  };
  return (
    <Button
      {...variantOf(properties)}
      disabled={flag(properties.isDisabled)}
      loading={isBusy}
      onClick={() => void press()}
    >
      <bdi>{text(properties.label, title)}</bdi>
    </Button>
  );
}

function variantOf({ variant }: Properties): object {
  return (Object.hasOwn(variants, text(variant)) && variants[text(variant)]) || {};
}
