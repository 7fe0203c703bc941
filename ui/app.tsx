/** The page: navigation, and one view at a time. All views except the services are loaded when they are opened. */
import { render, type ComponentType, type JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { serverClock } from './api/server-clock.ts';
import { span } from './parts/format.ts';
import { SignIn, openSignIn } from './parts/sign-in.tsx';
import { Loading, Note } from './parts/states.tsx';
import { followLinks, usePlace } from './state/router.ts';
import type { Place, View } from './state/place.ts';
import { applyTheme, savedTheme, themes, type Theme } from './state/theme.ts';
import { Services } from './views/services.tsx';

type ViewComponent = ComponentType<{ place: Place }>;

const titles: Record<View, string> = {
  services: 'Services',
  service: 'Service',
  map: 'Map',
  live: 'Live',
  graph: 'Query',
  nodes: 'Nodes',
  objects: 'Objects',
};
const navigation: readonly View[] = ['services', 'map', 'live', 'graph', 'nodes', 'objects'];

const onDemand: Record<Exclude<View, 'services'>, () => Promise<ViewComponent>> = {
  service: async () => (await import('./views/service.tsx')).Service,
  map: async () => (await import('./views/map.tsx')).MapView,
  live: async () => (await import('./views/live.tsx')).LiveView,
  nodes: async () => (await import('./views/nodes.tsx')).Nodes,
  objects: async () => (await import('./views/objects.tsx')).ObjectsView,
  graph: async () => (await import('./views/query.tsx')).Query,
};

/** A view, loaded when it is first shown. */
function ViewOf({ place }: { place: Place }): JSX.Element {
  const { view } = place;
  const [loaded, setLoaded] = useState<Partial<Record<View, ViewComponent>>>({ services: Services });
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    if (view === 'services' || loaded[view]) return;
    setFailed(false);
    onDemand[view]().then(
      (component) => setLoaded((before) => ({ ...before, [view]: component })),
      () => setFailed(true),
    );
  }, [view]);
  const Component = loaded[view];
  if (Component) return <Component key={view} place={place} />;
  if (failed) return <Note kind="bad" title="This view could not be loaded. Reload the page." />;
  return <Loading what={titles[view].toLowerCase()} />;
}

/** Says that the browser's clock is wrong: times that the user enters or compares are of that clock. */
function ClockNote(): JSX.Element | null {
  const [ahead, setAhead] = useState(serverClock.browserAhead);
  useEffect(() => serverClock.onChange(() => setAhead(serverClock.browserAhead)), []);
  if (ahead === 0) return null;
  const which = ahead > 0 ? 'ahead of' : 'behind';
  return (
    <Note
      kind="warn"
      title={`The clock of this device is ${span(ahead)} ${which} the query server’s, which counts here.`}
    />
  );
}

function ThemeChoice(): JSX.Element {
  const [theme, setTheme] = useState<Theme>(savedTheme);
  return (
    <select
      aria-label="Theme"
      value={theme}
      onChange={(event) => {
        const chosen = event.currentTarget.value as Theme;
        setTheme(chosen);
        applyTheme(chosen);
      }}
    >
      {themes.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}

function Page(): JSX.Element {
  const place = usePlace();
  const title = titles[place.view];
  const service = place.view === 'service' ? place.params.get('name') : null;
  useEffect(() => {
    document.title = `${service || title} · svc`;
  }, [service, title]);
  const current = place.view === 'service' ? 'services' : place.view;
  return (
    <>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <header>
        <a class="brand" href="services">
          svc
        </a>
        <nav aria-label="Views">
          {navigation.map((view) => (
            <a key={view} href={view} aria-current={view === current ? 'page' : undefined}>
              {titles[view]}
            </a>
          ))}
        </nav>
        <ThemeChoice />
        <button type="button" id="token" title="Set the bearer token that this page sends" onClick={openSignIn}>
          token…
        </button>
      </header>
      <main id="main" tabIndex={-1} class={place.view}>
        <h1 class={place.view === 'service' ? 'away' : ''}>{title}</h1>
        <ClockNote />
        <ViewOf place={place} />
      </main>
      <SignIn />
    </>
  );
}

applyTheme(savedTheme());
followLinks();
const page = document.getElementById('page')!;
page.replaceChildren();
render(<Page />, page);
