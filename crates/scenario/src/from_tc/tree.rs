//! The qdiscs, classes and filters of each interface after all commands, or from output.

use super::parameters::Note;
use super::text::{Fault, Statement, Word};
use super::units;

/// The number of a class: that of its qdisc, and its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Id {
    pub major: u64,
    pub minor: u64,
}

/// The place of a qdisc or class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parent {
    Root,
    Class(Id),
}

/// A qdisc with its words.
#[derive(Clone, Debug)]
pub(super) struct Qdisc {
    pub parent: Parent,
    pub handle: u64,
    pub kind: Word,
    pub words: Vec<Word>,
}

/// A class with its words.
#[derive(Clone, Debug)]
pub(super) struct Class {
    pub parent: Parent,
    pub id: Id,
    pub kind: Word,
    pub words: Vec<Word>,
}

/// A filter that is understood: packets of a traffic class go to a class, or get a priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Filter {
    /// The qdisc that has it; `None`: in front of the qdisc at the root.
    pub qdisc: Option<u64>,
    /// `None`: all packets.
    pub traffic_class: Option<u8>,
    pub target: Target,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Class(Id),
    Priority(u64),
}

/// An interface.
#[derive(Clone, Debug)]
pub(super) struct Interface {
    /// Its name, as it was written first. Empty for commands without one.
    pub name: Word,
    pub qdiscs: Vec<Qdisc>,
    pub classes: Vec<Class>,
    pub filters: Vec<Filter>,
}

/// The action of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    /// It makes something new in the place of what is there.
    Set,
    /// It changes what is there, if there is something.
    Change,
    Delete,
}

/// All interfaces.
#[derive(Debug, Default)]
pub(super) struct Interfaces {
    pub list: Vec<Interface>,
    pub notes: Vec<Note>,
}

fn note(word: &Word, text: String) -> Note {
    Note { span: word.span.clone(), text }
}

/// Words that `tc` prints or takes in front of the name of a qdisc, and what follows them.
const STAB: [&str; 6] = ["mtu", "tsize", "mpu", "overhead", "linklayer", "cell_log"];

/// Lines of taprio's output begin with these words, without a space before them.
const LINES_OF_TAPRIO: [&str; 4] = ["queues", "clockid", "max-sdu", "fp"];

impl Interfaces {
    pub fn read(statements: &[Statement]) -> Result<Self, Fault> {
        let mut interfaces = Self::default();
        let mut at = 0;
        while at < statements.len() {
            let words = &statements[at].words;
            at += 1;
            let first = words.iter().position(|word| !word.is("sudo")).unwrap_or(0);
            let words = &words[first..];
            let Some(program) = words.first() else { continue };
            if program.is("true") {
                continue;
            }
            if program.text.rsplit('/').next() == Some("tc") {
                interfaces.command(program, &words[1..])?;
            } else if ["qdisc", "class", "filter"].contains(&program.text.as_str()) {
                // Lines that follow with a space are more of the same; statistics begin with `Sent`.
                let is_more = |statement: &&Statement| {
                    statement.is_indented || LINES_OF_TAPRIO.contains(&statement.words[0].text.as_str())
                };
                let more = statements[at..].iter().take_while(is_more).count();
                let options = statements[at..at + more].iter().take_while(|line| !line.words[0].is("Sent"));
                let all: Vec<_> = words.iter().chain(options.flat_map(|line| &line.words)).cloned().collect();
                at += more;
                interfaces.object(program, &all[1..])?;
            } else {
                let label = "expected `tc`, or a line that `tc qdisc show` prints";
                return Err(program.fault(format!("`{}` is no command of tc", program.text), label));
            }
        }
        Ok(interfaces)
    }

    /// A command behind the name of the program.
    fn command(&mut self, program: &Word, mut words: &[Word]) -> Result<(), Fault> {
        while let Some(option) = words.first().filter(|word| word.text.starts_with('-')) {
            if ["-b", "-batch", "-n", "-netns"].contains(&option.text.as_str()) {
                return Err(option.fault("an option that names something else", "give the commands themselves"));
            }
            words = &words[1..];
        }
        let Some(object) = words.first() else {
            return Err(program.fault("a command of tc without an object", "expected qdisc, class or filter"));
        };
        self.object(object, &words[1..])
    }

    fn object(&mut self, object: &Word, words: &[Word]) -> Result<(), Fault> {
        let verbs = [("add", Verb::Set), ("change", Verb::Change), ("replace", Verb::Change), ("delete", Verb::Delete)];
        let Some(verb) = words.first() else {
            return Err(object.fault(format!("`{}` is not complete", object.text), "expected add, replace or change"));
        };
        let known = verbs.iter().find(|(name, _)| verb.begins(name)).map(|(_, known)| *known);
        let (known, words) = known.map_or((Verb::Set, words), |known| (known, &words[1..]));
        let is_shown = words.get(1).is_some_and(|word| word.text.contains(':'));
        if words.is_empty() || (std::ptr::eq(&raw const words[0], verb) && !is_shown) {
            let label = "expected add, replace, change or delete";
            return Err(verb.fault(format!("`{}` is no command of `tc {}`", verb.text, object.text), label));
        }
        if object.begins("qdisc") {
            self.qdisc(known, words)
        } else if object.begins("class") {
            self.class(known, words)
        } else if object.begins("filter") {
            self.filter(known, words)
        } else {
            let label = "expected qdisc, class or filter";
            Err(object.fault(format!("tc has no object `{}` that describes a queue", object.text), label))
        }
    }

    /// The interface of classes and filters: `tc class show dev NAME` does not repeat the name, so that they belong to
    /// the interface before them.
    fn same_interface(&mut self, name: Option<&Word>, at: &Word) -> &mut Interface {
        let before = self.list.last().map(|interface| interface.name.clone());
        self.interface(name.or(before.as_ref()), at)
    }

    fn interface(&mut self, name: Option<&Word>, at: &Word) -> &mut Interface {
        let name = name.cloned().unwrap_or(Word { text: String::new(), span: at.span.clone() });
        let found = self.list.iter().position(|interface| interface.name.text == name.text);
        let index = found.unwrap_or_else(|| {
            self.list.push(Interface { name, qdiscs: Vec::new(), classes: Vec::new(), filters: Vec::new() });
            self.list.len() - 1
        });
        &mut self.list[index]
    }

    fn qdisc(&mut self, verb: Verb, words: &[Word]) -> Result<(), Fault> {
        let mut head = Head::read(words, &mut self.notes)?;
        let interface_name = head.device.clone();
        let first = &words[0];
        if head.is_ingress {
            if verb == Verb::Delete {
                self.interface(interface_name.as_ref(), first).filters.retain(|filter| filter.qdisc.is_some());
            } else if !head.kind.as_ref().is_some_and(|kind| kind.is("clsact")) {
                self.notes.push(note(first, "ingress: a link has a queue in front of it only.".to_owned()));
            }
            return Ok(());
        }
        let interface = self.interface(interface_name.as_ref(), first);
        let parent = head.parent.unwrap_or(Parent::Root);
        let old = interface.qdiscs.iter().position(|qdisc| qdisc.parent == parent);
        if verb == Verb::Delete {
            if let Some(old) = old {
                interface.remove(old);
            }
            return Ok(());
        }
        let Some(kind) = head.kind.take() else {
            return Err(first.fault("a qdisc without a name", "expected one such as fq_codel at the end"));
        };
        if let Some(index) = old {
            let old = &mut interface.qdiscs[index];
            let is_same = old.kind.text == kind.text && (head.handle == 0 || head.handle == old.handle);
            if verb == Verb::Change && is_same {
                if CHANGES_ONLY_WHAT_IS_GIVEN.contains(&kind.text.as_str()) {
                    old.words.extend(head.words);
                } else {
                    old.words = head.words;
                    if kind.text == "netem" {
                        let text = "netem: of a change only the new parameters count; Linux keeps rate, slot, reorder \
                                    and corrupt, if they are not given.";
                        self.notes.push(note(&kind, text.to_owned()));
                    }
                }
                return Ok(());
            }
            interface.remove(index);
        }
        interface.qdiscs.push(Qdisc { parent, handle: head.handle, kind, words: head.words });
        Ok(())
    }

    fn class(&mut self, verb: Verb, words: &[Word]) -> Result<(), Fault> {
        let mut head = Head::read(words, &mut self.notes)?;
        let first = &words[0];
        let Some(id) = head.id else {
            return Err(first.fault("a class without a number", "expected `classid` and one such as 1:10"));
        };
        let interface = self.same_interface(head.device.as_ref(), first);
        let old = interface.classes.iter().position(|class| class.id == id);
        if verb == Verb::Delete {
            interface.classes.retain(|class| class.id != id);
            return Ok(());
        }
        let Some(kind) = head.kind.take() else {
            return Err(first.fault("a class without the name of its qdisc", "expected one such as htb"));
        };
        let parent = match head.parent {
            Some(Parent::Class(Id { minor: 0, .. })) | None => Parent::Root,
            Some(parent) => parent,
        };
        match old {
            // The parameters of a class that are not given have their defaults again.
            Some(old) => interface.classes[old] = Class { parent, id, kind, words: head.words },
            None => interface.classes.push(Class { parent, id, kind, words: head.words }),
        }
        Ok(())
    }

    fn filter(&mut self, verb: Verb, words: &[Word]) -> Result<(), Fault> {
        let device = words.windows(2).find(|pair| pair[0].is("dev")).map(|pair| pair[1].clone());
        let filter = if verb == Verb::Delete { None } else { filter(words) };
        let text = "filter: only filters by firewall mark or DSCP are read. `classes` have the traffic classes.";
        match filter {
            Some(filter) => self.same_interface(device.as_ref(), &words[0]).filters.push(filter),
            None => self.notes.push(note(&words[0], text.to_owned())),
        }
        Ok(())
    }
}

/// The qdiscs that keep the parameters that a change does not name. Others have their defaults again, since `tc` sends
/// all of them.
const CHANGES_ONLY_WHAT_IS_GIVEN: [&str; 8] = ["codel", "fq_codel", "pie", "fq_pie", "fq", "hhf", "cake", "dualpi2"];

impl Interface {
    /// Removes a qdisc, and what is below it.
    fn remove(&mut self, index: usize) {
        let mut removed = vec![self.qdiscs.remove(index).handle];
        while let Some(handle) = removed.pop() {
            if handle == 0 {
                continue;
            }
            self.classes.retain(|class| class.id.major != handle);
            self.filters.retain(|filter| filter.qdisc != Some(handle));
            let is_below = |qdisc: &Qdisc| matches!(qdisc.parent, Parent::Class(id) if id.major == handle);
            removed.extend(self.qdiscs.iter().filter(|qdisc| is_below(qdisc)).map(|qdisc| qdisc.handle));
            self.qdiscs.retain(|qdisc| !is_below(qdisc));
        }
    }

    /// The qdisc of a class, if its qdisc has a handle by which it can be named.
    pub fn child(&self, id: Id) -> Option<&Qdisc> {
        self.qdiscs.iter().find(|qdisc| qdisc.parent == Parent::Class(id)).filter(|_| id.major > 0)
    }

    /// Checks that the qdiscs and classes are a tree.
    pub fn check(&self) -> Result<(), Fault> {
        let with_handle = |major: u64| self.qdiscs.iter().filter(move |qdisc| qdisc.handle == major);
        for qdisc in &self.qdiscs {
            if qdisc.handle > 0 && with_handle(qdisc.handle).count() > 1 {
                return Err(qdisc.kind.fault(format!("two qdiscs have the handle {:x}:", qdisc.handle), "one of them"));
            }
            let above = |qdisc: &Qdisc| match qdisc.parent {
                Parent::Class(id) => with_handle(id.major).next(),
                Parent::Root => None,
            };
            let levels = std::iter::successors(Some(qdisc), |&qdisc| above(qdisc)).take(MOST_LEVELS + 1).count();
            if levels > MOST_LEVELS {
                return Err(qdisc.kind.fault("qdiscs that are nested too deep", "Linux has at most 8 levels"));
            }
        }
        let of_qdiscs = self.qdiscs.iter().filter_map(|qdisc| match qdisc.parent {
            Parent::Class(id) => Some((id.major, &qdisc.kind)),
            Parent::Root => None,
        });
        let of_classes = self.classes.iter().filter(|class| class.kind.is("htb"));
        let mut all = of_qdiscs.chain(of_classes.map(|class| (class.id.major, &class.kind)));
        match all.find(|(major, _)| with_handle(*major).next().is_none()) {
            Some((major, kind)) => {
                Err(kind.fault(format!("no qdisc has the handle {major:x}:"), "this one is below it"))
            }
            None => Ok(()),
        }
    }

    /// The traffic classes that filters send to a class, each once.
    pub fn traffic_classes(&self, id: Id) -> Vec<u8> {
        let here = self.filters.iter().filter(|filter| filter.qdisc == Some(id.major));
        let mut classes = Vec::new();
        for filter in here.filter(|filter| filter.target == Target::Class(id)) {
            classes.extend(filter.traffic_class.filter(|class| !classes.contains(class)));
        }
        classes
    }
}

/// The words in front of a qdisc's or class's parameters.
#[derive(Debug, Default)]
struct Head {
    device: Option<Word>,
    parent: Option<Parent>,
    handle: u64,
    id: Option<Id>,
    is_ingress: bool,
    kind: Option<Word>,
    words: Vec<Word>,
}

impl Head {
    fn read(words: &[Word], notes: &mut Vec<Note>) -> Result<Self, Fault> {
        let mut head = Self::default();
        let mut rest = words.iter();
        while let Some(word) = rest.clone().next() {
            let known = head.word(word, &mut rest, notes)?;
            if known {
                continue;
            }
            if head.kind.is_some() {
                break;
            }
            head.is_ingress |= word.is("ingress") || word.is("clsact");
            head.kind = Some(word.clone());
            rest.next();
            // In output the number follows the name.
            if let Some(number) = rest.clone().next().filter(|word| word.text.contains(':')) {
                let id = id(number)?;
                (head.handle, head.id) = (id.major, Some(id));
                rest.next();
            } else {
                break;
            }
        }
        head.words = rest.cloned().collect();
        Ok(head)
    }

    /// Takes a word that can be in front, and its value. Whether it is one.
    fn word<'w>(
        &mut self,
        word: &'w Word,
        rest: &mut std::slice::Iter<'w, Word>,
        notes: &mut Vec<Note>,
    ) -> Result<bool, Fault> {
        let mut value = || {
            rest.next();
            rest.next().ok_or_else(|| word.fault(format!("the value of `{}` is missing", word.text), "needs a value"))
        };
        match word.text.as_str() {
            "dev" => self.device = Some(value()?.clone()),
            "parent" => self.parent = Some(parent(value()?)?),
            "classid" => self.id = Some(id(value()?)?),
            "handle" => self.handle = id(value()?)?.major,
            "refcnt" | "leaf" => drop(value()?),
            "root" => {
                self.parent = Some(Parent::Root);
                rest.next();
            }
            "offloaded" => drop(rest.next()),
            "estimator" | "est" => {
                value()?;
                rest.next();
            }
            "stab" => {
                rest.next();
                notes.push(note(
                    word,
                    "stab: add the bytes of the link layer by hand: `framing` of the link has them.".to_owned(),
                ));
                while rest.clone().next().is_some_and(|word| STAB.contains(&word.text.as_str())) {
                    rest.next();
                    rest.next();
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn parent(word: &Word) -> Result<Parent, Fault> {
    if word.is("root") { Ok(Parent::Root) } else { id(word).map(Parent::Class) }
}

/// Levels of qdiscs below each other (`check_loop` in the kernel).
const MOST_LEVELS: usize = 8;
/// The largest number of a qdisc or class.
const MOST: u64 = 0xffff;

fn id(word: &Word) -> Result<Id, Fault> {
    let (major, minor) = word.text.split_once(':').unwrap_or((&word.text, ""));
    let number = |text: &str| match text {
        "" => Some(0),
        text => units::hexadecimal(text).filter(|number| *number <= MOST),
    };
    match (number(major), number(minor)) {
        (Some(major), Some(minor)) => Ok(Id { major, minor }),
        _ => {
            Err(word
                .fault(format!("`{}` is not the number of a qdisc or class", word.text), "expected one such as 1:10"))
        }
    }
}

/// A filter, if it is one of those that are understood: by firewall mark (`basic`, `fw`) or DSCP (`u32`, `flower`), to
/// a class or with a priority.
fn filter(words: &[Word]) -> Option<Filter> {
    let after = |names: &[&str]| {
        let at = words.iter().position(|word| names.contains(&word.text.as_str()))?;
        words.get(at + 1)
    };
    let has = |name: &str| words.iter().any(|word| word.is(name));
    let qdisc = match after(&["parent"]) {
        Some(word) => Some(id(word).ok()?.major),
        None if has("egress") => None,
        None => return None,
    };
    let target = match after(&["classid", "flowid"]) {
        Some(word) => Target::Class(id(word).ok()?),
        None => Target::Priority(after(&["priority"]).and_then(|word| units::hexadecimal(&word.text))?),
    };
    let byte = |text: &str| units::integer(text).and_then(|number| u8::try_from(number).ok());
    let dscp = |tos: &str| byte(tos).map(|tos| tos >> 2);
    let traffic_class = if has("matchall") {
        None
    } else if has("basic") {
        let condition = after(&["match"])?.text.replace(' ', "");
        Some(byte(condition.strip_prefix("meta(nf_markeq")?.strip_suffix(')')?)?)
    } else if has("fw") {
        let mark = &after(&["handle"])?.text;
        Some(byte(mark.split_once('/').map_or(mark.as_str(), |(mark, _)| mark))?)
    } else if has("u32") {
        let at = words.iter().position(|word| word.is("dsfield") || word.is("tos"))?;
        (words.get(at + 2)?.is("0xfc")).then_some(())?;
        Some(dscp(&words.get(at + 1)?.text)?)
    } else {
        let tos = &after(&["ip_tos"])?.text;
        Some(dscp(tos.split_once('/').map_or(tos.as_str(), |(tos, _)| tos))?)
    };
    Some(Filter { qdisc, traffic_class, target })
}
