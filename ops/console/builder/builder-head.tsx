import '@mantine/core/styles/FloatingIndicator.css';
import '@mantine/core/styles/SegmentedControl.css';
import { Button, SegmentedControl, TextInput } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { UndoButtons, type UndoMoves } from '../editor/use-undo.tsx';
import { PageTitle } from '../ui/page.tsx';
import type { PageDocument } from './document.ts';
import { isWidth, type Width, widths } from './widths.ts';

interface Props {
  tenantID: string;
  document: PageDocument;
  isDirty: boolean;
  isDraft: boolean;
  isSaving: boolean;
  mayChange: boolean;
  isPreview: boolean;
  width: Width;
  undo: UndoMoves;
  onTitle: (title: string) => void;
  onWidth: (width: Width) => void;
  onPreview: (isPreview: boolean) => void;
  onSave: () => void;
  onPublish: () => void;
}

/** The title of the page, and what is done with it as a whole. */
export function BuilderHead(props: Props) {
  const { tenantID, document, isDirty, isDraft, isSaving, mayChange, isPreview, width, undo } = props;
  const { kind, id, title } = document;
  const field = mayChange && !isPreview && (
    <TextInput
      aria-label="Title"
      className="title-field"
      value={title}
      onChange={(event) => props.onTitle(event.currentTarget.value)}
    />
  );
  return (
    <div className="editor-head">
      <PageTitle title={title} field={field} beside={<State {...{ isDirty, isDraft, kind }} />}>
        {!isPreview && mayChange && <UndoButtons {...undo} />}
        <SegmentedControl
          size="xs"
          aria-label="Width of the page"
          value={width}
          data={Object.entries(widths).map(([value, { word }]) => ({ value, label: word }))}
          onChange={(value) => isWidth(value) && props.onWidth(value)}
        />
        <Button size="xs" variant="default" aria-pressed={isPreview} onClick={() => props.onPreview(!isPreview)}>
          {isPreview ? 'Go on editing' : 'Preview'}
        </Button>
        <Button size="xs" variant="default" renderRoot={(own) => <ViewLink {...own} {...{ tenantID, kind, id }} />}>
          View
        </Button>
        {mayChange && (
          <Button size="xs" loading={isSaving} disabled={!isDirty} title="Ctrl S" onClick={props.onSave}>
            Save
          </Button>
        )}
        {mayChange && isDraft && (
          <Button size="xs" loading={isSaving} onClick={props.onPublish}>
            Publish
          </Button>
        )}
      </PageTitle>
    </div>
  );
}

function ViewLink({ tenantID, kind, id, ...props }: { tenantID: string } & Pick<PageDocument, 'kind' | 'id'>) {
  if (kind === 'app-page')
    return <Link {...props} to="/t/$tenantID/pages/$appPageID" params={{ tenantID, appPageID: id }} />;
  return <Link {...props} to="/t/$tenantID/pages/dashboards/$dashboardID" params={{ tenantID, dashboardID: id }} />;
}

function State({ isDirty, isDraft, kind }: Pick<Props, 'isDirty' | 'isDraft'> & Pick<PageDocument, 'kind'>) {
  const what = kind === 'app-page' && isDraft ? 'A draft: viewers see that it runs nothing' : 'Saved';
  return (
    <span role="status" className="status" data-tone={isDirty || isDraft ? 'wait' : 'ok'}>
      {isDirty ? 'Not saved' : what}
    </span>
  );
}
