/** The page: starts what it lives from and draws the view of its address. */
import { render } from 'preact';
import { useEffect } from 'preact/hooks';
import { startClock } from './clock.ts';
import { startKeys } from './keys.ts';
import { address, startPlaces } from './place.ts';
import { startTheme } from './settings.ts';
import { loadServer } from './store.ts';
import { Dialogs } from './views/dialogs.tsx';
import { laterView } from './views/later-view.tsx';
import { RunPage } from './views/run.tsx';
import { Runs } from './views/runs.tsx';
import { Shell } from './views/shell.tsx';

const Compare = laterView(() => import('./views/compare.tsx').then((part) => part.Compare));
const Queue = laterView(() => import('./views/queue.tsx').then((part) => part.Queue));
const Start = laterView(() => import('./views/start.tsx').then((part) => part.Start));

function View() {
  const at = address.value;
  useEffect(() => {
    void loadServer();
  }, []);
  switch (at.view) {
    case 'runs':
      return <Runs />;
    case 'run':
      return <RunPage id={at.run} />;
    case 'queue':
      return <Queue />;
    case 'compare':
      return <Compare key={`${at.a} ${at.b}`} a={at.a} b={at.b} />;
    case 'new':
      return <Start />;
    default:
      return (
        <div class="empty">
          <h1>No such page</h1>
          <p>
            <a href="/">All runs</a>
          </p>
        </div>
      );
  }
}

startTheme();
startClock();
startPlaces();
startKeys();
const root = document.querySelector('#page');
if (root !== null)
  render(
    <Shell>
      <View />
      <Dialogs />
    </Shell>,
    root,
  );
