import { Button } from '@mantine/core';
import { useState } from 'react';
import { Notice } from '../../../ui/notice.tsx';
import { flag, text, toneOf, usePage, type WidgetProps } from '../page-context.ts';

export function AlertWidget({ widgetKey, properties: { title, message, variant, isDismissible } }: WidgetProps) {
  const page = usePage();
  const [isClosed, setClosed] = useState(false);
  if (isClosed) return null;
  const close = () => {
    setClosed(true);
    void page.fire(widgetKey, 'onDismiss');
  };
  return (
    <Notice tone={toneOf(variant)} role={variant === 'danger' ? 'alert' : 'status'} title={text(title)}>
      <bdi>{text(message)}</bdi>{' '}
      {flag(isDismissible) && (
        <Button size="compact-xs" variant="default" onClick={close}>
          Close
        </Button>
      )}
    </Notice>
  );
}
