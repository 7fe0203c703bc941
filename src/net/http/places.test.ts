import { Places, type Place } from './places.ts';

let closed: string[];
beforeEach(() => (closed = []));
const place = (address: string, name: string, arriving = false): Place => ({
  address,
  busy: 0,
  arriving: () => arriving,
  close: () => void closed.push(name),
});

test('at the limit of an address, its connection that has been idle for longest is evicted', () => {
  const places = new Places({ connections: 10, connectionsPerAddress: 2 });
  const [a, b] = [place('10.0.0.1', 'a'), place('10.0.0.1', 'b')];
  places.enter(place('10.0.0.2', 'other'));
  places.enter(a);
  places.enter(b);
  places.begin(a);
  places.end(a); // it became idle after b came
  expect(places.enter(place('10.0.0.1', 'c'))).toEqual({ entered: true, evicted: true });
  expect(closed).toEqual(['b']);
  expect(places.count).toBe(3);
});

test('at the total limit, the address with the most connections loses one', () => {
  const places = new Places({ connections: 4, connectionsPerAddress: 4 });
  places.enter(place('10.0.0.1', 'victim'));
  for (const name of ['x', 'y', 'z']) places.enter(place('10.0.0.9', name));
  expect(places.enter(place('10.0.0.3', 'new'))).toEqual({ entered: true, evicted: true });
  expect(closed).toEqual(['x']);
});

test('at the total limit, many addresses of one IPv6 network lose before a caller with more connections than each', () => {
  const places = new Places({ connections: 5, connectionsPerAddress: 4 });
  for (const name of ['a', 'b']) places.enter(place('2001:db8:0:2::1', name));
  for (const name of ['x', 'y', 'z']) places.enter(place(`2001:db8:0:1:9::${name.charCodeAt(0)}`, name));
  expect(places.enter(place('10.0.0.3', 'new'))).toEqual({ entered: true, evicted: true });
  expect(closed).toEqual(['x']);
});

test('without an idle connection, one whose request still arrives is evicted, never one that awaits an answer', () => {
  const places = new Places({ connections: 2, connectionsPerAddress: 2 });
  const [slow, answered] = [place('10.0.0.1', 'slow', true), place('10.0.0.1', 'answered')];
  for (const one of [answered, slow]) {
    places.enter(one);
    places.begin(one);
  }
  expect(places.busy).toBe(2);
  expect(places.enter(place('10.0.0.1', 'new', true))).toEqual({ entered: true, evicted: true });
  expect(closed).toEqual(['slow']);
  expect(places.busy).toBe(1);
  places.end(slow); // the request of the evicted connection ends only now, and no longer counts
  expect(places.busy).toBe(1);
});

test('a connection is refused when every other connection is being answered', () => {
  const places = new Places({ connections: 1, connectionsPerAddress: 1 });
  const one = place('10.0.0.1', 'one');
  places.enter(one);
  places.begin(one);
  expect(places.enter(place('10.0.0.2', 'two'))).toEqual({ entered: false, evicted: false });
  places.leave(one);
  expect([places.count, places.busy]).toEqual([0, 0]);
  expect(places.enter(place('10.0.0.2', 'two')).entered).toBe(true);
});

test('of connections whose request still arrives, the one whose request began first is evicted', () => {
  const places = new Places({ connections: 2, connectionsPerAddress: 2 });
  const [old, young] = [place('10.0.0.1', 'old', true), place('10.0.0.1', 'young', true)];
  places.enter(young);
  places.enter(old);
  places.begin(old);
  places.begin(young);
  places.enter(place('10.0.0.1', 'new'));
  expect(closed).toEqual(['old']);
});
