import { Button } from '@mantine/core';
import { useMay } from '../client/may.ts';
import { askAssistant, EXPLAIN } from '../open-page/open-page.ts';
import { Icon } from '../ui/icon.tsx';

/** Has the assistant explain the failure that the page shows. */
export function ExplainFailure() {
  if (!useMay()('ai.execute')) return null;
  return (
    <Button
      size="compact-xs"
      variant="default"
      leftSection={<Icon name="spark" size={12} />}
      onClick={() => askAssistant(EXPLAIN)}
    >
      Explain this failure
    </Button>
  );
}
