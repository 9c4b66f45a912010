import {
  type JsonFormsRendererRegistryEntry,
  type LabelProps,
  type LayoutProps,
  rankWith,
  uiTypeIs,
} from '@jsonforms/core';
import { JsonFormsDispatch, useJsonForms, withJsonFormsLabelProps, withJsonFormsLayoutProps } from '@jsonforms/react';
import { Fieldset, Stack, Text } from '@mantine/core';
import { type ReactNode, useEffect, useRef } from 'react';
import { faultAround, hasFault } from './schema-faults.ts';
import type { Layout } from './schema-shape.ts';
import { Words } from './words.tsx';

const below = withJsonFormsLayoutProps((layout) => layout.visible && <Below {...layout} />);
const beside = withJsonFormsLayoutProps((layout) => layout.visible && <Beside {...layout} />);
const group = withJsonFormsLayoutProps((layout) => layout.visible && <InGroup {...layout} />);
const text = withJsonFormsLabelProps((label) => label.visible && <Said {...label} />);

export const layoutRenderers: JsonFormsRendererRegistryEntry[] = Object.entries({
  ...{ VerticalLayout: below, HorizontalLayout: beside, Group: group, Label: text },
  // Categories as groups below each other: none hides the faults of its fields behind a tab.
  ...{ Categorization: below, Category: group },
}).map(([type, renderer]) => ({ tester: rankWith(1, uiTypeIs(type)), renderer }));

function Below(layout: LayoutProps) {
  return (
    <Stack gap="sm">
      <Elements {...layout} />
    </Stack>
  );
}

function Beside(layout: LayoutProps) {
  return (
    <div className="fields">
      <Elements {...layout} />
    </div>
  );
}

function InGroup({ label, ...layout }: LayoutProps) {
  const { core } = useJsonForms();
  const { path, uischema } = layout;
  const faults = core?.additionalErrors;
  const around = faultAround(uischema as Layout, path, faults);
  if (!label) return <Below {...layout} label="" />;
  return (
    <Box label={label} isAtFault={hasFault(uischema as Layout, path, faults)}>
      <Fault text={around} />
      <Below {...layout} label="" />
    </Box>
  );
}

/** A group. The forms of questions begin with their groups open, and a fault opens the one that it is in. */
export function Box({ label, isAtFault, children }: { label: string; isAtFault: boolean; children: ReactNode }) {
  const { config } = useJsonForms();
  const box = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    // It stays open while the fault is mended in it.
    if (isAtFault && box.current) box.current.open = true;
  }, [isAtFault]);
  return (
    <details ref={box} className="group" open={config.isQuestion}>
      <summary>{label}</summary>
      <Fieldset variant="unstyled" aria-label={label}>
        {children}
      </Fieldset>
    </details>
  );
}

/** The description of a group or a list, if it has one. */
export function Hint({ text }: { text: string | undefined }) {
  return (
    text && (
      <Text size="xs">
        <Words text={text} />
      </Text>
    )
  );
}

/** The fault of a group or of a list, if it has one. */
export function Fault({ text }: { text: string | undefined }) {
  return (
    text && (
      <div className="fault">
        <Words text={text} />
      </div>
    )
  );
}

function Elements({ uischema, schema, path, enabled, readonly, renderers }: LayoutProps) {
  const { elements } = uischema as Layout & LayoutProps['uischema'];
  return elements?.map((element, index) => (
    <JsonFormsDispatch
      // biome-ignore lint/suspicious/noArrayIndexKey: fields of two conditions may have the same scope
      key={index}
      uischema={element as LayoutProps['uischema']}
      {...{ schema, path, renderers }}
      enabled={enabled && readonly !== true}
    />
  ));
}

function Said({ text }: LabelProps) {
  return (
    <Text size="sm" fw={600}>
      {text}
    </Text>
  );
}
