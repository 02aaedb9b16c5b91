package sharespec.recorder;

import java.util.EnumSet;
import java.util.Set;
import net.bytebuddy.description.type.TypeDescription;
import net.bytebuddy.matcher.ElementMatchers;
import net.bytebuddy.pool.TypePool;

/** Whether Kafka has the members that the recorder reads, seen without loading its classes. */
final class Members {
    private Members() { }

    static void check(TypePool pool) {
        Set<Member> present = EnumSet.noneOf(Member.class);
        for (Member member : Member.values()) {
            if (isPresent(member, pool)) {
                present.add(member);
            } else if (!member.optional()) {
                throw new IllegalStateException("there is no " + member);
            }
        }
        oneOf(present, Member.DELIVERY_LIMIT, Member.DELIVERY_LIMIT_FIELD);
        oneOf(present, Member.RECORD_LOCKS, Member.RECORD_LOCKS_FIELD);
        oneOf(present, Member.CONFIG_PROVIDER, Member.GROUP_CONFIGS);
        oneOf(present, Member.PROVIDED_RESET, Member.GROUP_RESET);
    }

    private static void oneOf(Set<Member> present, Member first, Member second) {
        if (!present.contains(first) && !present.contains(second)) {
            throw new IllegalStateException("there is neither " + first + " nor " + second);
        }
    }

    private static boolean isPresent(Member member, TypePool pool) {
        for (String owner : member.owners()) {
            TypePool.Resolution resolution = pool.describe(owner);
            if (resolution.isResolved()) {
                return isIn(member, resolution.resolve());
            }
        }
        return false;
    }

    private static boolean isIn(Member member, TypeDescription owner) {
        if (member.isField()) {
            return !owner.getDeclaredFields().filter(ElementMatchers.named(member.member())).isEmpty();
        }
        return !owner.getDeclaredMethods().filter(ElementMatchers.named(member.member())
            .and(ElementMatchers.takesArguments(member.parameters()))).isEmpty();
    }
}
